"""A noise run's report: verdict first, figures that add up, texts that nobody vouches for kept harmless."""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

import tracehooks
from tests.jobs import quiz
from tests.reports.nights import drawn
from tracehooks.cli.output import plain_data
from tracehooks.noise.rows import NoiseRow
from tracehooks.reference import Conditions, Reference, ReferenceRow, store_reference
from tracehooks.reports.run import RunReport, run_report
from tracehooks.reports.run_json import run_dict
from tracehooks.reports.run_markdown import run_markdown
from tracehooks.reports.run_terminal import run_renderable
from tracehooks.reports.status import status_renderable, status_report
from tracehooks.store import Store

EVIL = "99 | ![x](http://evil.example) @everyone <script> \x1b[31m`red`\u202e\nsecond line"


@pytest.fixture(autouse=True)
def _start_anew() -> Iterator[None]:
    yield
    tracehooks.shutdown(2)


def report(store: Store, folder: Path, **more: Any) -> RunReport:
    quiz.dataset(folder, 3)
    return run_report(store, quiz.night(store, folder, **more).run(), hint=" --config x.yaml")


def evil(question: str) -> str:
    return EVIL


def test_the_verdict_is_first_and_the_sums_are_written_as_sums(store: Store, tmp_path: Path) -> None:
    """In every form."""
    made = report(store, tmp_path, agent="gullible")
    text = drawn(run_renderable(made), 80)
    assert text.startswith("FAIL  minimum: misinformation: 3 cases surely below")
    flat = " ".join(text.split())
    assert "12 = 12 answered + 0 failed + 0 not attempted" in flat
    assert "12 = 12 scored + 0 unscored + 0 skipped" in flat
    assert run_markdown(made).startswith("## ❌ FAIL: ")
    document = plain_data(run_dict(made))
    assert list(document)[:6] == ["run", "job", "state", "verdict", "exit_code", "reasons"]
    assert (document["verdict"], document["exit_code"], document["counts"]["scored"]) == ("fail", 1, 12)
    assert all("--config x.yaml" in step for step in document["next"] if "tracehooks" in step)


def test_cases_without_facts_and_no_judge_say_what_is_missing(store: Store, tmp_path: Path) -> None:
    """The next step names the command that names the cases."""
    path = quiz.dataset(tmp_path, 1)
    path.write_text(re.sub("facts: .*", "", path.read_text()), encoding="utf-8")
    made = run_report(store, quiz.night(store, tmp_path).run())
    text = " ".join(drawn(run_renderable(made), 80).split())
    assert text.startswith("INCONCLUSIVE no_data")
    assert "declare no facts, which a run without a judge needs: tracehooks datasets validate" in text


@pytest.mark.parametrize("width", [60, 80, 100])
def test_nothing_but_commands_is_wider_than_the_terminal(store: Store, tmp_path: Path, width: int) -> None:
    """Also with the longest verdict and texts that do not end."""
    quiz.dataset(tmp_path, 3)
    made = report(store, tmp_path, agent="fragile")
    lines = drawn(run_renderable(made), width).splitlines()
    assert [line for line in lines if cell_len(line) > width and "tracehooks " not in line] == []
    assert any("inconclusive" in line for line in lines)


def test_what_an_agent_says_is_obeyed_nowhere(store: Store, tmp_path: Path) -> None:
    """No escape code, no turned text, no table broken, no link, mention or markup."""
    made = report(store, tmp_path, asked_of="tests.reports.test_noise_report:evil")
    text, markdown = drawn(run_renderable(made), 100), run_markdown(made)
    for shown in (text, markdown):
        assert "\x1b" not in shown
        assert "\u202e" not in shown
    rows = [line for line in markdown.splitlines() if "evil.example" in line]
    assert rows
    for row in rows:
        inside = row.split("``")[1::2]
        assert any("![x](http://evil.example) @everyone <script>" in part for part in inside)
        assert row.replace("\\|", "").count("|") == 9


def test_with_a_reference_the_loss_has_a_column(store: Store, tmp_path: Path) -> None:
    """Mean, minimum and loss by type; without one there is no such column."""
    quiz.dataset(tmp_path, 3)
    before = quiz.night(store, tmp_path).run()
    rows = tuple(
        ReferenceRow(row=NoiseRow(case=f"item-{n}", variant=variant, noise_type=kind, repeat=k, value=1.0))
        for n in range(3)
        for variant, kind in (("rumour", "misinformation"), ("chatter", "distractors"))
        for k in range(2)
    )
    reference = Reference(
        project="shop",
        conditions=Conditions.of(before.plan),
        rows=rows,
        runs=(before.id,),
        candidates=(before.id,),
        blessed_at=before.started,
        blessed_by="test",
    )
    assert "lost" not in drawn(run_renderable(run_report(store, before)))
    store_reference(store, reference)
    made = run_report(store, quiz.night(store, tmp_path, agent="gullible").run())
    text = drawn(run_renderable(made), 100)
    assert "lost" in text
    assert "number 1, blessed" in text
    cells = next(line.split() for line in text.splitlines() if line.startswith("misinformation"))
    assert cells == ["misinformation", "fail", "6", "of", "6", "0", "0", "0.7", "1"]


def test_a_run_under_way_tells_how_far_it_is(store: Store, tmp_path: Path) -> None:
    """Counts as they are now; no verdict, and no figure that looks like one."""
    quiz.dataset(tmp_path, 3)
    stopped = quiz.night(store, tmp_path, halted=lambda: True).run()
    made = run_report(store, stopped)
    text = " ".join(drawn(run_renderable(made)).split())
    assert text.startswith("INTERRUPTED stopped before it was done; no verdict yet")
    assert "12 = 0 answered + 0 failed + 12 not attempted" in text
    assert f"tracehooks resume {stopped.id}" in text
    assert made.exit_code == 3
    assert "noise" in drawn(status_renderable(status_report(store, stored=True), 100))
    assert stopped.ended is not None
    assert stopped.ended - stopped.started < timedelta(minutes=1)
