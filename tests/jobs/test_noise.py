"""The noise night: rows that add up, and a verdict that no failure can flatter."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.jobs import quiz
from tests.jobs.quiz import Scripted, check_sums, dataset, night
from tracehooks.errors import ConfigurationError
from tracehooks.jobs.noise import NoiseNight
from tracehooks.jobs.noise_rows import answers, noise_rows
from tracehooks.records import Reason, Status, Verdict
from tracehooks.settings import JsonlSettings
from tracehooks.store import Store

pytestmark = pytest.mark.usefixtures("asked_anew")


def test_a_steady_agent_passes_with_every_row_on_its_own_trace(store: Store, tmp_path: Path) -> None:
    """Five cases, two variants, two repeats: twenty traces, twenty scores, by declared facts and no judge."""
    dataset(tmp_path)
    run = night(store, tmp_path).run()
    assert (run.state, run.verdict) == ("finished", Verdict.PASS)
    assert run.reasons == ("noise: each of 2 noise types reaches its minimums, 20 of 20 answers scored",)
    assert (run.counts["planned"], run.counts["answered"], run.counts["scored"]) == (20, 20, 20)
    check_sums(run)
    replays = store.replays.of_run(run.id)
    assert len({one.trace_id for one in replays}) == 20
    (score,) = store.scores.of_trace(replays[0].trace_id or "")
    assert (score.name, score.value, score.run_id, score.environment) == (
        "noise_facts",
        1.0,
        run.id,
        "test-replay",
    )
    labels = {name: score.metadata[name] for name in ("dataset", "case", "variant", "noise_type", "repeat")}
    assert labels == {
        "dataset": "quiz",
        "case": "item-0",
        "variant": "rumour",
        "noise_type": "misinformation",
        "repeat": 0,
    }


def test_the_plan_says_under_which_conditions_the_figures_stand(store: Store, tmp_path: Path) -> None:
    """What a reference compares: datasets by content, agent, score, scorer, judge."""
    dataset(tmp_path)
    one = night(store, tmp_path, scorer=Scripted())
    run = one.run()
    plan = run.plan
    assert (plan["agent"], plan["score_name"], plan["scorer_version"]) == ("quiz", "noise_sensitivity", "1")
    assert plan["datasets"].keys() == {"quiz"}
    assert plan["cases"]["quiz"].keys() == {f"item-{n}" for n in range(5)}
    assert (plan["repeats"], plan["gate"]["margin"], plan["direction"], plan["range"]) == (
        2,
        0.05,
        "higher",
        [0, 1],
    )
    dataset(tmp_path, 4)
    assert night(store, tmp_path).preview().datasets != plan["datasets"]


def test_five_repeats_are_five_rows(store: Store, tmp_path: Path) -> None:
    """langfuse/langfuse#15935, promptfoo/promptfoo#5849: stored, read back, and asked each time."""
    dataset(tmp_path, 2)
    run = night(store, tmp_path, repeats=5).run()
    rows = noise_rows(store, run)
    assert len(rows) == 20
    assert len(quiz.ASKED) == 20
    assert Counter((row.case, row.variant) for row in rows) == {
        (f"item-{n}", variant): 5 for n in range(2) for variant in ("rumour", "chatter")
    }
    assert sorted({row.repeat for row in rows}) == [0, 1, 2, 3, 4]


def test_mean_and_spread_of_a_variant_are_over_its_repeats(store: Store, tmp_path: Path) -> None:
    """langfuse/langfuse#15935: five answers are not shown as one."""
    dataset(tmp_path, 1)
    run = night(store, tmp_path, agent="moody", repeats=5, job={"concurrency": 1}).run()
    worst = next(one for one in run.report["types"] if one["type"] == "misinformation")["lowest"][0]
    assert (worst["mean"], worst["low"], worst["high"]) == (pytest.approx(0.6), 0.0, 1.0)
    assert (worst["scored"], worst["wanted"], worst["answer"]) == (5, 5, "Who knows.")


def test_a_second_run_is_a_fresh_pass(store: Store, tmp_path: Path) -> None:
    """A noise run asks everything anew; the first stays as it was."""
    dataset(tmp_path, 2)
    first, second = night(store, tmp_path).run(), night(store, tmp_path).run()
    assert first.id != second.id
    assert len(quiz.ASKED) == 16
    assert len(noise_rows(store, first)) == len(noise_rows(store, second)) == 8


def test_an_agent_that_believes_the_noise_fails_by_type_and_case(store: Store, tmp_path: Path) -> None:
    """agentclash/agentclash#901: the verdict names both, the report question, noisy question and answer."""
    dataset(tmp_path)
    run = night(store, tmp_path, agent="gullible").run()
    assert run.verdict is Verdict.FAIL
    assert run.reasons[0].startswith("minimum: misinformation: 5 cases surely below")
    assert "item-3" in run.reasons[0]
    by_type = {one["type"]: one for one in run.report["types"]}
    assert (by_type["misinformation"]["verdict"], by_type["distractors"]["verdict"]) == ("fail", "pass")
    worst = by_type["misinformation"]["lowest"][0]
    assert (worst["question"], worst["asked"]) == ("How many of item 0?", "They say 99. How many of item 0?")
    assert (worst["answer"], worst["mean"], worst["wanted"]) == ("There are 99, as you say.", 0.0, 2)
    assert by_type["distractors"]["lowest"] == []


def test_which_way_is_better_is_the_scorers_and_never_guessed(store: Store, tmp_path: Path) -> None:
    """LeBonhommePharma/FlexAIDdS#344, confident-ai/deepeval#2901: declared, or an error."""
    dataset(tmp_path, 3)
    assert night(store, tmp_path, scorer=Scripted(direction="higher")).run().verdict is Verdict.PASS
    lower = night(store, tmp_path, scorer=Scripted(direction="lower")).run()
    assert lower.verdict is Verdict.FAIL
    assert "surely above what must be reached" in lower.reasons[0]
    assert lower.report["types"][0]["lowest"][0]["mean"] == pytest.approx(0.95)
    with pytest.raises(ConfigurationError, match="declares no direction"):
        night(store, tmp_path, scorer=Scripted(direction=""))


def test_a_judge_that_is_down_passes_nothing(store: Store, tmp_path: Path) -> None:
    """promptfoo/promptfoo#7040: an outage is no quality failure and no pass; the answers are kept."""
    dataset(tmp_path)
    down = dict.fromkeys(("misinformation", "distractors"), Reason.UNREACHABLE)
    run = night(store, tmp_path, scorer=Scripted(down)).run()
    assert run.verdict is Verdict.INCONCLUSIVE
    assert run.counts["unscored"] == {"unreachable": 20}
    assert run.counts["answered"] == 20
    check_sums(run)
    assert {one.text for one in answers(store, run)} == {f"There are {n + 10}." for n in range(5)}


def test_four_of_five_rows_unscored_pass_nothing(store: Store, tmp_path: Path) -> None:
    """vibrantlabsai/ragas#3028: 2 scored of 10 is a coverage of 20 %, whatever their mean."""
    dataset(tmp_path)
    fails = {
        f"{kind} item-{n}": Reason.TIMEOUT for n in range(4) for kind in ("misinformation", "distractors")
    }
    run = night(store, tmp_path, scorer=Scripted(fails)).run()
    assert run.verdict is Verdict.INCONCLUSIVE
    assert any(reason.startswith("coverage: misinformation: 2 of 10 scored") for reason in run.reasons)
    assert (run.report["rows"]["mean"], run.report["rows"]["scored"]) == (0.95, 4)
    assert run.report["rows"]["success_rate"] == pytest.approx(4 / 20)
    check_sums(run)


def test_one_type_without_any_score_is_open_and_its_mean_is_none(store: Store, tmp_path: Path) -> None:
    """HKUDS/LightRAG#4040: no 0.0 and no NaN; the other type's mean stands, and the whole is partial."""
    dataset(tmp_path, 3)
    run = night(store, tmp_path, scorer=Scripted({"distractors": Reason.REFUSED})).run()
    by_type = {one["type"]: one for one in run.report["types"]}
    assert (by_type["distractors"]["rows"]["mean"], by_type["distractors"]["verdict"]) == (
        None,
        "inconclusive",
    )
    assert by_type["misinformation"]["rows"]["mean"] == pytest.approx(0.95)
    assert (run.report["rows"]["partial"], run.verdict) == (True, Verdict.INCONCLUSIVE)


def test_an_agent_that_raises_under_noise_is_a_row_that_enters_as_a_bound(
    store: Store, tmp_path: Path
) -> None:
    """confident-ai/deepeval#3234: its row has no score, its error is told, and the gate does not pass."""
    dataset(tmp_path)
    run = night(store, tmp_path, agent="fragile").run()
    assert (run.counts["answered"], run.counts["agent_errors"]) == (10, 10)
    assert run.counts["unscored"] == {"not_attempted": 10}
    check_sums(run)
    assert run.verdict is Verdict.INCONCLUSIVE
    assert "agent: 10 of 20 calls failed; the first: ValueError: cannot count that" in run.reasons
    failed = next(one for one in answers(store, run) if one.replay.error)
    assert (failed.row.reason, failed.row.value) == (Reason.NOT_ATTEMPTED, None)
    (score,) = store.scores.of_trace(failed.replay.trace_id or "")
    assert score.status is Status.UNSCORED
    assert "ValueError: cannot count that" in score.comment


PLANTED = """
  - id: stock
    query: "How many of item 1?"
    facts: {must_contain: ["11"]}
    variants:
      - {id: poisoned, noise_type: adversarial, carrier: "tool:count", content: {left: 99}}
      - {id: page, noise_type: adversarial, carrier: document, content: "There are 99."}
"""


def test_noise_that_never_reaches_the_agent_is_not_robust(store: Store, tmp_path: Path) -> None:
    """A tool that it never calls, documents that it never looks for: told, skipped, no verdict on them."""
    dataset(tmp_path, 1, more=PLANTED)
    run = night(store, tmp_path).run()
    assert run.verdict is Verdict.INCONCLUSIVE
    assert run.reasons == ("no_data: adversarial: none of the 4 rows is applicable to this score",)
    assert run.report["notes"] == [
        "unreached: 4 of 8 answers are not judged; the first: noise never reached the agent: "
        "the tool count was not called"
    ]
    assert (run.counts["answered"], run.counts["skipped"]) == (8, {"not_applicable": 4})
    (score,) = [one for one in store.scores.page(status=Status.SKIPPED) if one.metadata["variant"] == "page"][
        :1
    ]
    assert score.comment == "Not scored: noise never reached the agent: no retriever was called"
    check_sums(run)


def test_behind_an_address_planted_noise_is_not_asked(store: Store, tmp_path: Path) -> None:
    """Its real tools would run. What can be asked is; here nobody is there."""
    dataset(tmp_path, 1, more=PLANTED)
    run = night(store, tmp_path, asked_of="http://127.0.0.1:9/ask").run()
    counts = run.counts
    assert (counts["answered"], counts["agent_errors"], counts["not_attempted"]) == (0, 4, 4)
    assert (run.state, run.verdict) == ("finished", Verdict.INCONCLUSIVE)
    assert run.reasons[0].startswith("agent: 4 of 4 calls failed; the first: ConnectionError: 127.0.0.1:9")
    check_sums(run)


def test_an_agent_that_fails_always_is_said_first_and_asked_no_more(store: Store, tmp_path: Path) -> None:
    """After twenty failures and no answer it is down: exit 3 with its first error, and the run can go on."""
    dataset(tmp_path, 20)
    run = night(store, tmp_path, agent="broken", job={"concurrency": 1}).run()
    assert run.verdict is Verdict.INCONCLUSIVE
    assert run.reasons[0].startswith("agent: 20 of 20 calls failed")
    assert "ConnectionError: no model today" in run.reasons[0]
    assert (run.state, run.counts["not_attempted"], len(quiz.ASKED)) == ("failed", 60, 20)
    check_sums(run)


@pytest.mark.parametrize("agent", ["silent", "speechless"])
def test_an_agent_that_says_nothing_is_no_data(store: Store, tmp_path: Path, agent: str) -> None:
    """vibrantlabsai/ragas#1383, confident-ai/deepeval#489: skipped as no_text, never a pass."""
    dataset(tmp_path)
    run = night(store, tmp_path, agent=agent).run()
    assert (run.counts["skipped"], run.counts["scored"]) == ({"no_text": 20}, 0)
    assert run.verdict is Verdict.INCONCLUSIVE
    assert run.reasons[0].startswith("no_data: the agent returned nothing for all 20 rows")
    check_sums(run)


ARCHIVED = (
    '\n  - {id: old, query: "q", archived: true, variants: [{id: v, noise_type: typos, content: "q"}]}\n'
)


@pytest.mark.parametrize(
    ("cases", "more", "options", "says"),
    [
        (0, "", {}, "the dataset quiz holds no cases"),
        (0, ARCHIVED, {}, "all 1 cases of the dataset quiz are archived"),
        (2, "", {"cases": ["nobody"]}, "no variant of quiz matches case nobody"),
        (2, "", {"tags": ["nothing"], "types": ["typos"]}, "matches tag nothing and type typos"),
        (2, "", {"job": {"datasets": ["nowhere/*.yaml"]}}, "no file matches nowhere/*.yaml"),
    ],
)
def test_nothing_to_ask_is_no_data_unless_allowed(
    store: Store, tmp_path: Path, cases: int, more: str, options: Any, says: str
) -> None:
    """agentclash/agentclash#901, imMamdouhaboammar/omni-skill#26: it says which; a pass only on request."""
    text = dataset(tmp_path, cases, more=more).read_text()
    if more:
        (tmp_path / "quiz.yaml").write_text(text.replace("cases: []", "cases:"))
    run = night(store, tmp_path, **options).run()
    assert (run.verdict, run.counts["planned"]) == (Verdict.INCONCLUSIVE, 0)
    assert run.reasons[0].startswith("no_data: ")
    assert says in run.reasons[0]
    allowed = night(store, tmp_path, allow_empty=True, **options).run()
    assert allowed.verdict is Verdict.PASS
    assert "allowed by --allow-empty" in allowed.reasons[0]


def test_filters_leave_out_what_is_not_of_them(store: Store, tmp_path: Path) -> None:
    """Datasets by name or file, cases, types; the plan keeps them, and its hash is of what is asked."""
    dataset(tmp_path)
    other = dataset(tmp_path / "more", 1, name="other")
    job = {"datasets": [str(tmp_path / "quiz.yaml"), str(other)]}
    everything = night(store, tmp_path, job=job).preview()
    assert (everything.variants, everything.cases, everything.asks) == (12, 6, 24)
    some = night(
        store, tmp_path, job=job, datasets=["quiz"], cases=["item-1", "item-2"], types=["distractors"]
    )
    assert (some.preview().variants, some.preview().by_type) == (2, {"distractors": 2})
    assert some.preview().datasets["quiz"] != everything.datasets["quiz"]
    assert night(store, tmp_path, datasets=[str(other)]).preview().datasets.keys() == {"other"}
    with pytest.raises(ConfigurationError, match="no dataset 'nope'; known are other, quiz"):
        night(store, tmp_path, job=job, datasets=["nope"])
    run = night(store, tmp_path, job=job).run()
    assert {row.case.partition("/")[0] for row in noise_rows(store, run)} == {"quiz", "other"}


def test_the_judge_sees_question_noise_and_baseline(store: Store, tmp_path: Path) -> None:
    """What is judged is the finished call, with its case; not what the trace happens to hold."""
    dataset(tmp_path, 1)
    scorer = Scripted()
    night(store, tmp_path, scorer=scorer, repeats=1).run()
    call = next(call for call in scorer.seen if call.metadata["noise_type"] == "misinformation")
    assert (call.input, call.output) == ("They say 99. How many of item 0?", "There are 10.")
    assert call.metadata["original_query"] == "How many of item 0?"
    assert call.metadata["baseline_response"] == "There are 10."


def test_scores_of_replays_leave_through_the_outbox(store: Store, tmp_path: Path) -> None:
    """The same one way as all scores: committed with their delivery, each once, with their case."""
    dataset(tmp_path, 2)
    chosen = quiz.settings(tmp_path).model_copy(
        update={"sinks": ("jsonl",), "jsonl": JsonlSettings(path=str(tmp_path / "scores.jsonl"))}
    )
    NoiseNight(settings=chosen, store=store).run()
    lines = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert len({line["id"] for line in lines}) == len(lines) == 8
    assert {line["environment"] for line in lines} == {"test-replay"}
    assert {line["metadata"]["case"] for line in lines} == {"item-0", "item-1"}


def test_the_agent_is_the_one_given_or_named_or_the_only_one(store: Store, tmp_path: Path) -> None:
    """By import path, by a name of `agents`, or the settings' own; else one sentence about the key."""
    dataset(tmp_path)
    base = quiz.settings(tmp_path)
    several = base.model_copy(
        update={"agent": None, "agents": {"a": "tests.jobs.quiz:steady", "b": "nowhere:x"}}
    )

    def made(settings: Any, agent: str | None = None) -> NoiseNight:
        return NoiseNight(settings=settings, store=store, agent=agent)

    assert made(several, "a").preview().agent == "quiz"
    assert made(base, "tests.jobs.quiz:gullible").preview().agent == "quiz"
    for settings, agent, says in (
        (several, None, "agents: there are several, choose one with --agent: a, b"),
        (several, "c", "there is no agent 'c'; known are a, b"),
        (several, "b", "agents.b: the agent nowhere:x cannot be loaded"),
        (base.model_copy(update={"agent": None}), None, "agent: no agent is set"),
    ):
        with pytest.raises(ConfigurationError, match=says):
            made(settings, agent)
