"""Scores arrive on their traces, each once, with the newest verdict, on every kind of server."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.exporters.langfuse.desk import Desk, on, posts, shown, toxicity
from tests.fake_langfuse import FakeLangfuse
from tests.stored import NOON, span_id, trace_id
from tracehooks.errors import InvalidScoreError
from tracehooks.records import Score, TraceRef
from tracehooks.scoring import Deliverer
from tracehooks.store import open_store

DeskAt = Callable[..., Desk]


def test_each_score_is_there_once_and_confirmed(any_langfuse: FakeLangfuse, desk_at: DeskAt) -> None:
    """Two hundred and fifty scores, in requests of a hundred, on the very spans that were judged."""
    desk = desk_at(any_langfuse)
    desk.commit([toxicity(n, n / 1000, f"because {n}") for n in range(250)])
    assert desk.deliver()
    assert desk.counts() == {"accepted": 250}
    assert len([post for post in posts(any_langfuse) if post.json != {"batch": []}]) == 3
    desk.clock.pass_(seconds=8)
    desk.deliver()
    assert desk.counts() == {"confirmed": 250}
    rows = {row["traceId"]: row for row in any_langfuse.scores}
    assert len(any_langfuse.scores) == len(rows) == 250
    for n in range(250):
        row = rows[trace_id(n)]
        assert (row["value"], row["comment"]) == (n / 1000, f"because {n}")
        assert (row["observationId"], row["environment"]) == (span_id(n), "production")


def test_a_rerun_on_another_day_updates_in_place(any_langfuse: FakeLangfuse, desk_at: DeskAt) -> None:
    """langfuse/langfuse#13823, tinyhumansai/tinyagents#53: 0.2, judged again the next day as 0.7, is 0.7."""
    desk = desk_at(any_langfuse)
    desk.commit([toxicity(n, 0.2, "mild") for n in range(20)])
    desk.deliver_all()
    for day, value in ((1, 0.7), (2, 0.1)):
        desk.clock.pass_(days=1)
        any_langfuse.advance(86_400)
        desk.commit([toxicity(n, value, f"day {day}") for n in range(20)], rescore=True)
        desk.deliver_all()
        assert shown(any_langfuse) == {trace_id(n): value for n in range(20)}
        assert {row["comment"] for row in any_langfuse.scores} == {f"day {day}"}
    assert desk.counts() == {"confirmed": 20}
    assert {row["metadata"]["revision"] for row in any_langfuse.scores} == {3}


def test_calls_around_midnight_keep_their_day(any_langfuse: FakeLangfuse, desk_at: DeskAt) -> None:
    """A run across midnight UTC, and a rerun: the servers that key by day see the same day each time."""
    desk = desk_at(any_langfuse)
    midnight = datetime(2026, 12, 1, tzinfo=UTC)
    starts = [midnight + timedelta(milliseconds=ms) for ms in (-2000, -1, 0, 1, 2000)]
    for n, start in enumerate(starts):
        desk.commit([toxicity(n, 0.2)], start=start)
    desk.deliver_all()
    desk.clock.now = midnight + timedelta(hours=26)
    for n, start in enumerate(starts):
        desk.commit([toxicity(n, 0.9)], start=start, rescore=True)
    desk.deliver_all()
    assert shown(any_langfuse) == {trace_id(n): 0.9 for n in range(len(starts))}
    assert desk.counts() == {"confirmed": len(starts)}


def test_two_workers_at_once_deliver_each_score_once(any_langfuse: FakeLangfuse, desk_at: DeskAt) -> None:
    """Each takes other rows of the same outbox; no score is sent twice."""
    desk = desk_at(any_langfuse)
    desk.commit([toxicity(n, 0.5) for n in range(600)])
    desk.sink.server.facts()
    with open_store(desk.store.url, clock=desk.clock) as other:
        workers = [desk.deliverer("a"), Deliverer(other, {"langfuse": desk.sink}, owner="b")]
        threads = [threading.Thread(target=worker.deliver, args=(60,)) for worker in workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert desk.counts() == {"accepted": 600}
    assert sum(len(_bodies(post)) for post in posts(any_langfuse)) == 600
    desk.deliver_all()
    assert len(shown(any_langfuse)) == 600


def test_every_score_on_the_wire_names_its_trace_and_span(
    any_langfuse: FakeLangfuse, desk_at: DeskAt
) -> None:
    """langfuse/langfuse-python#1890: misnamed fields were kept as extras, and the trace id read as empty."""
    desk = desk_at(any_langfuse)
    desk.commit([toxicity(n, 0.5) for n in range(7)])
    desk.deliver()
    bodies = [body for post in posts(any_langfuse) for body in _bodies(post)]
    assert {body["traceId"] for body in bodies} == {trace_id(n) for n in range(7)}
    assert {body["observationId"] for body in bodies} == {span_id(n) for n in range(7)}


def test_scores_at_the_ends_of_the_range_arrive(any_langfuse: FakeLangfuse, desk_at: DeskAt) -> None:
    """langfuse/langfuse#7626: 0 and 1 belong to [0, 1]; what lies outside is refused by name, unsent."""
    desk = desk_at(any_langfuse)
    desk.sink.configs.create("toxicity", dataType="NUMERIC", minValue=0, maxValue=1)
    values = [0, 1, 0.0, 1.0, -1e-9, 1 + 1e-9]
    desk.commit([toxicity(n, value) for n, value in enumerate(values)])
    desk.deliver_all()
    assert shown(any_langfuse) == {trace_id(n): values[n] for n in range(4)}
    assert desk.counts() == {"confirmed": 4, "dead": 2}
    errors = [error for _, _, error, _ in desk.store.outbox.troubles()]
    assert any("minimum 0" in error for error in errors)
    assert any("maximum 1" in error for error in errors)
    assert any_langfuse.dropped == []


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), None, True, "0.4"])
def test_what_is_no_number_never_becomes_a_score(desk: Desk, value: Any) -> None:
    """anvia-hq/anvia#440, microsoft/PyRIT#2703: no null, no 1.0 for True; an unscored result stays here."""
    with pytest.raises(InvalidScoreError):
        toxicity(1, value)
    desk.commit([Score.unscored("toxicity", "malformed", target=TraceRef(trace_id(1), span_id(1)))])
    desk.deliver()
    assert desk.counts() == {}
    assert desk.server.scores == []


@pytest.mark.parametrize(
    ("data_type", "value"),
    [("NUMERIC", -3.25), ("BOOLEAN", True), ("BOOLEAN", 0), ("CATEGORICAL", "good"), ("TEXT", "x" * 500)],
)
def test_every_data_type_arrives_as_it_is(
    any_langfuse: FakeLangfuse, desk_at: DeskAt, data_type: Any, value: Any
) -> None:
    """Numbers, truths, categories and texts are read back equal, by whichever API reads them."""
    desk = desk_at(any_langfuse)
    desk.commit([on(1, "thumbs", value, data_type=data_type)])
    desk.deliver_all()
    assert desk.counts() == {"confirmed": 1}
    (row,) = any_langfuse.scores
    assert (row["dataType"], row["value"]) == (data_type, value)


def test_a_text_that_no_server_takes_is_dead_with_a_remedy(desk: Desk) -> None:
    """It is told here, and nothing else of its batch is held up."""
    desk.commit([on(1, "note", "x" * 501, data_type="TEXT"), on(2, "note", "fine", data_type="TEXT")])
    desk.deliver_all()
    assert desk.counts() == {"confirmed": 1, "dead": 1}
    ((_, _, error, _),) = desk.store.outbox.troubles()
    assert "at most 500 characters" in error


def test_metadata_says_where_a_score_came_from(any_langfuse: FakeLangfuse, desk_at: DeskAt) -> None:
    """Version, judge, run, probability, analysis, judge's trace, time, revision; the judge's prompt stays."""
    desk = desk_at(any_langfuse)
    score = toxicity(
        1,
        0.4,
        "rude",
        judge_model="judge-2026",
        analysis={"n": 1},
        judge_trace_id="f" * 32,
        prompt=["secret"],
    )
    desk.commit([score], run_id="run-1", probability=0.25)
    desk.deliver_all()
    (row,) = any_langfuse.scores
    metadata = row["metadata"]
    assert metadata["scorer_version"] == "v1"
    assert (metadata["judge_model"], metadata["analysis"]) == ("judge-2026", {"n": 1})
    assert (metadata["run"], metadata["probability"], metadata["revision"]) == ("run-1", 0.25, 1)
    assert metadata["judge_trace_id"] == "f" * 32
    assert metadata["scored_at"].startswith("2026-12-01T02:00:00")
    assert row["timestamp"].startswith(NOON.strftime("%Y-%m-%dT%H:%M:%S"))
    assert "secret" not in str(any_langfuse.requests)


def test_odd_metadata_holds_up_no_other_score(any_langfuse: FakeLangfuse, desk_at: DeskAt) -> None:
    """Metadata as deep as the store takes it stays here; its score arrives, and those beside it do."""
    desk = desk_at(any_langfuse)
    desk.commit([toxicity(0, 0.1), _with({"deep": _nested(253), "band": "low"}, n=1), toxicity(2, 0.3)])
    desk.deliver_all()
    assert desk.counts() == {"confirmed": 3}
    kept = next(row["metadata"] for row in any_langfuse.scores if row["traceId"] == trace_id(1))
    assert kept["band"] == "low"
    assert "too deep" in kept["analysis"]


def test_metadata_too_deep_to_be_cut_is_dead_with_the_reason(desk: Desk) -> None:
    """What is always sent is too deep itself: that score alone stays here."""
    desk.commit([toxicity(0, 0.1), _with({"band": _nested(253)}, n=1)])
    desk.deliver_all()
    assert desk.counts() == {"confirmed": 1, "dead": 1}
    assert "its metadata is nested too deep" in desk.store.outbox.troubles()[0][2]


def test_a_later_verdict_leaves_nothing_of_the_one_before(
    any_langfuse: FakeLangfuse, desk_at: DeskAt
) -> None:
    """The server merges writes of one id, so that a reason left out would still be the old one."""
    desk = desk_at(any_langfuse)
    desk.commit([toxicity(1, 0.9, "an insult", analysis="old", judge_model="a")])
    desk.deliver_all()
    desk.commit([toxicity(1, 0.0, "")], rescore=True)
    desk.deliver_all()
    (row,) = any_langfuse.scores
    assert (row["value"], row["comment"]) == (0.0, "toxicity: 0")
    assert row["metadata"].get("analysis") is None


@pytest.mark.parametrize(
    ("given", "kept"), [("production", "production"), ("Prod Env!", "prod-env"), ("langfuse-x", "x")]
)
def test_the_environment_is_the_calls(desk: Desk, given: str, kept: str) -> None:
    """Also where the server would make it "default" without a word."""
    desk.commit([toxicity(1, 0.5)], environment=given)
    desk.deliver_all()
    (row,) = desk.server.scores
    assert row["environment"] == kept


def test_a_prescreens_number_goes_there_only_when_asked(langfuse: FakeLangfuse, desk_at: DeskAt) -> None:
    """It is no judge's; by default it waits for nothing, because it is not to be sent."""
    at_home = desk_at(langfuse)
    at_home.commit([on(1, "toxicity_prescreen", 0.5)])
    at_home.deliver()
    assert at_home.counts() == {}
    asked = desk_at(langfuse, langfuse={"prescreen": True})
    asked.commit([on(1, "toxicity_prescreen", 0.5)])
    asked.deliver_all()
    assert asked.counts() == {"confirmed": 1}


def test_odd_characters_and_long_texts_arrive(any_langfuse: FakeLangfuse, desk_at: DeskAt) -> None:
    """simonw/llm#546, mlflow/mlflow#24123: a lone surrogate or a huge comment costs no batch."""
    desk = desk_at(any_langfuse)
    comments = ["ok \ud83e", "nul \x00", "😀" * 30_000, "z"]
    long = {"text": "y" * 2_000_000}
    desk.commit([toxicity(n, 0.1, text, analysis=long, own=long) for n, text in enumerate(comments)])
    desk.deliver_all()
    assert desk.counts() == {"confirmed": 4}
    assert {row["metadata"]["scorer_version"] for row in any_langfuse.scores} == {"v1"}


def _with(metadata: dict[str, Any], n: int) -> Score:
    return Score.scored("toxicity", 0.2, target=TraceRef(trace_id(n), span_id(n)), metadata=metadata)


def _nested(depth: int) -> Any:
    found: Any = 1
    for _ in range(depth):
        found = {"a": found}
    return found


def _bodies(post: Any) -> list[dict[str, Any]]:
    said = post.json
    return [event["body"] for event in said["batch"]] if isinstance(said, dict) else list(said)
