"""A run's report: the verdict first, sums that hold, and the same in every form."""

import re
from datetime import timedelta

import pytest

from tests.reports.nights import LATER, WordScorer, drawn, night, run_night
from tests.stored import NOON, POLITE, RUDE, fill, mixed, trace_id
from tracehooks.records import Verdict
from tracehooks.reports.run import Counts, RunReport, run_report
from tracehooks.reports.run_json import run_dict
from tracehooks.reports.run_markdown import run_markdown
from tracehooks.reports.run_terminal import run_renderable
from tracehooks.reports.run_words import next_steps
from tracehooks.store import Store

HOSTILE = "You idiot | <img src=x onerror=alert(1)> @everyone #42 `code` [a](http://evil.example)\n\n# Title"


def _commands(report: RunReport) -> list[str]:
    return [step.command for step in next_steps(report) if step.command]


def test_the_first_line_is_the_verdict_and_why(store: Store) -> None:
    """In the terminal as in Markdown, who reads one line knows how it went."""
    fill(store, mixed(300, 4))
    report = run_report(store, run_night(store))
    assert drawn(run_renderable(report), 200).startswith("PASS  toxicity: 4 of 300 scored calls are toxic")
    assert run_markdown(report).startswith("## ✅ PASS: toxicity: 4 of 300 scored calls are toxic")


def test_counts_are_written_as_sums_that_hold(store: Store) -> None:
    """vibrantlabsai/ragas#3028: no call is missing from the account, whatever became of it."""
    fill(store, [POLITE] * 30 + [RUDE, "broken", "broken", None, ""])
    text = drawn(run_renderable(run_report(store, run_night(store, sample={"size": 20}))), 200)
    sums = re.findall(r"(?:calls|planned) +([\d,]+) = (.*)", text)
    assert len(sums) == 2
    for total, parts in sums:
        figures = re.sub(r"\(.*?\)", "", parts)
        assert int(total) == sum(map(int, re.findall(r"\d+", figures)))


def test_the_worst_calls_are_named_with_their_texts(store: Store) -> None:
    """A verdict that cannot be looked at is not believed."""
    fill(store, mixed(300, 2))
    report = run_report(store, run_night(store))
    text = drawn(run_renderable(report))
    worst = report.worst[0]
    assert (worst.name, worst.value, worst.band) == ("support-bot", 0.8, "severe")
    assert "You are an idiot" in text
    assert f"tracehooks explain {worst.trace_id[:12]}" in text


def test_a_pruned_call_is_still_named(store: Store) -> None:
    """The scores outlive the texts, and the report says so."""
    fill(store, mixed(300, 2))
    run = run_night(store)
    store.spans.prune(LATER)
    text = drawn(run_renderable(run_report(store, run)))
    assert "its text is no longer stored" in text
    assert trace_id(0)[:12] in text


def test_markdown_obeys_nothing_that_an_agent_said(store: Store) -> None:
    """Text of a trace in a pull request makes no link, no image, no mention, no new table cell."""
    fill(store, [HOSTILE, *[POLITE] * 9])
    lines = run_markdown(run_report(store, run_night(store))).splitlines()
    (row,) = [line for line in lines if "everyone" in line]
    said = row.split(" | ")[2]
    assert said.startswith("`` You idiot \\| <img")
    assert said.endswith("``")
    assert not any(line.startswith("# Title") for line in lines)


def test_a_table_row_has_as_many_cells_as_its_head(store: Store) -> None:
    """A bar in a text does not shift the columns."""
    fill(store, [HOSTILE, *[POLITE] * 9])
    table = [
        line for line in run_markdown(run_report(store, run_night(store))).splitlines() if line[:1] == "|"
    ]
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table}
    assert widths == {3, 6}


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_report_fits_the_width(store: Store, width: int) -> None:
    """Only commands, which are to be copied whole, may be longer than a line."""
    fill(store, [*mixed(300, 4), "broken " * 100])
    text = drawn(run_renderable(run_report(store, run_night(store))), width)
    too_long = [line for line in text.splitlines() if len(line.rstrip()) > width]
    assert all(line.strip().startswith("tracehooks ") for line in too_long)


def test_a_run_that_is_not_done_has_no_verdict_of_an_earlier_pass(store: Store) -> None:
    """promptfoo/promptfoo#335: a pass from yesterday says nothing about a pass that was interrupted."""
    fill(store, mixed(300, 4))
    run = run_night(store)
    assert run.verdict is Verdict.PASS
    report = run_report(store, store.runs.update(run.id, state="interrupted"))
    assert report.exit_code == 3
    assert run_dict(report)["verdict"] is None
    assert drawn(run_renderable(report)).startswith("INTERRUPTED")
    assert f"tracehooks resume {run.id}" in _commands(report)


def test_a_failed_pass_shows_its_error_and_no_verdict(store: Store) -> None:
    """agronholm/apscheduler#652: what a job raised is in its report."""
    fill(store, mixed(300, 4))
    run = run_night(store)
    broken = store.runs.update(run.id, state="failed", reasons=("error: RuntimeError: no judge",))
    report = run_report(store, broken)
    assert report.exit_code == 3
    assert drawn(run_renderable(report)).startswith("FAILED  error: RuntimeError: no judge")


def test_a_run_that_has_not_planned_can_be_shown(store: Store) -> None:
    """A record without counts and figures is a record still."""
    run = store.runs.open("toxicity", NOON, LATER, plan={"score_name": "toxicity"}, owner="gone:1:1")
    report = run_report(store, run)
    assert report.counts is None
    assert run_dict(report)["counts"] is None
    assert "discovered" not in drawn(run_renderable(report))


def test_counts_of_an_unfinished_run_add_up_too(store: Store) -> None:
    """What is not judged yet is counted as not attempted, not left out."""
    fill(store, mixed(10, 1))
    run = run_night(store)
    store.items.reopen(run.id, scored=True)
    report = run_report(store, store.runs.update(run.id, state="interrupted"))
    assert report.counts == Counts(discovered=10, planned=10, unscored={"not_attempted": 10})


def test_hints_repeat_the_settings_file(store: Store) -> None:
    """A suggested command reads the same store as the one that suggested it."""
    fill(store, mixed(300, 4))
    report = run_report(store, run_night(store), hint=" --config night.yaml")
    assert _commands(report)
    assert all(command.endswith(" --config night.yaml") for command in _commands(report))


def test_missing_data_leads_to_a_next_step(store: Store) -> None:
    """agentclash/agentclash#901: an empty window is undecided, and says what to do about it."""
    fill(store, [POLITE], start=LATER - timedelta(seconds=5))
    report = run_report(store, run_night(store, settle="10m"))
    assert report.exit_code == 3
    assert any("settle" in step.purpose for step in next_steps(report))
    empty = run_report(store, night(store).run(NOON - timedelta(days=2), NOON - timedelta(days=1)))
    assert "tracehooks traces" in _commands(empty)


def test_unscored_calls_are_told_by_reason_and_can_be_asked_for_again(store: Store) -> None:
    """The command in the hint runs the very window of the report."""
    fill(store, [*mixed(300, 4), "broken"])
    run = run_night(store)
    again = next(command for command in _commands(run_report(store, run)) if " run " in command)
    assert again == "tracehooks run toxicity --from 2026-11-30T12:00:00Z --to 2026-11-30T14:00:00Z"


def test_a_nan_never_reaches_a_document(store: Store) -> None:
    """anvia-hq/anvia#440, microsoft/PyRIT#2703: unknown is null, in counts, means and rates."""
    fill(store, ["broken"] * 5)
    figures = run_dict(run_report(store, run_night(store)))["figures"]
    assert figures["mean"] is None
    assert figures["rate"]["value"] is None


def test_the_report_names_a_toxic_score_by_its_own_name(store: Store) -> None:
    """A pre-screen's number is never shown as a judge's."""
    fill(store, mixed(300, 4))
    run = run_night(store, scorer=WordScorer(name="toxicity_prescreen"))
    text = drawn(run_renderable(run_report(store, run)))
    assert "toxicity_prescreen" in text
    assert "no judge asked" in text


def test_spans_that_were_lost_are_in_the_report(store: Store) -> None:
    """langfuse/langfuse#1499: a night that did not see everything says so."""
    fill(store, mixed(300, 4))
    store.losses.add(7)  # noted now, by the real clock
    run = night(store).run(NOON, NOON + timedelta(days=3650))
    report = run_report(store, run)
    assert report.dropped == run_dict(report)["dropped_spans"] == 7
    assert "7 spans never reached the store" in drawn(run_renderable(report))
    assert run_report(store, run_night(store)).dropped == 0
