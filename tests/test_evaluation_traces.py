"""Evaluate where tracing runs: each item is a trace of its own, and has its scores."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

import tracehooks
from tests.evaluating import Length, data_of, run
from tracehooks import traced
from tracehooks.evaluation import EvaluationResult, evaluate
from tracehooks.records import AgentCall
from tracehooks.scorers.function import FunctionScorer
from tracehooks.store import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Tracing runs, into this store."""
    url = f"sqlite:///{tmp_path}/store.db"
    tracehooks.init({"store": url, "project": "shop"})
    with open_store(url) as opened:
        yield opened
    tracehooks.shutdown(5)


@traced(kind="tool")
def _tool(text: str) -> str:
    return "tool"


@traced
def _plain(text: str) -> str:
    _tool(text)
    return text.upper()


@traced
async def _async(text: str) -> str:
    await asyncio.sleep(0.001)
    return text.upper()


@traced
def _stream(text: str) -> Iterator[str]:
    yield from text.upper()


@traced
async def _astream(text: str) -> AsyncIterator[str]:
    for letter in text.upper():
        yield letter


def _wrapped(text: str) -> str:
    return _plain(text)


@pytest.mark.parametrize("target", [_plain, _async, _stream, _astream, _wrapped])
def test_where_tracing_runs_each_items_scores_go_onto_its_own_trace(store: Store, target: Any) -> None:
    """Whatever the target's shape, and however many items are at work at once."""
    result = run(
        data=data_of(12), scorers=[Length(), FunctionScorer(lambda call: 0.5, "half")], target=target
    )
    assert tracehooks.flush(20)
    calls = {call.ref: call for call in store.calls.latest(100)}
    assert len(calls) == 12
    for item in result.items:
        stored = calls[item.call.ref]
        assert (stored.input, stored.output) == (item.input, item.input.upper())
        scores = {score.name: score for score in store.scores.of_trace(item.call.trace_id)}
        assert scores["length"].value == item.scores["length"].value == len(item.input)
        assert {(score.source, score.ref) for score in scores.values()} == {("evaluate", item.call.ref)}
        assert len(scores) == 2


def test_each_item_is_a_trace_of_its_own_wherever_evaluate_is_called(store: Store) -> None:
    """Inside a traced call the items are no steps of it; session and user are handed on."""

    @traced
    async def nightly() -> EvaluationResult:
        with tracehooks.trace_attributes(session_id="s-1"):
            return await evaluate(data=data_of(3), scorers=[Length()], target=_plain)

    result = asyncio.run(nightly())
    assert tracehooks.flush(20)
    assert len({item.call.trace_id for item in result.items}) == 3
    assert len(store.calls.latest(100)) == 4
    assert {item.call.session_id for item in result.items} == {"s-1"}


def test_a_target_that_nobody_traces_is_scored_and_not_stored(store: Store) -> None:
    """There is no trace to put the scores on."""
    result = run(data=data_of(3), scorers=[Length()], target=str.upper)
    assert result.scores["length"].scored == 3
    assert tracehooks.flush(20)
    assert store.scores.page() == []


def test_failures_go_onto_the_trace_as_what_they_are(store: Store) -> None:
    """A target that raised is not attempted; a scorer that raised is an error; both have no value."""

    @traced
    def target(text: str) -> str:
        if text == "xx":
            raise KeyError("k")
        return text

    def bad(call: AgentCall) -> float:
        raise RuntimeError

    run(data=data_of(3), scorers=[Length(), bad], target=target)
    assert tracehooks.flush(20)
    assert tracehooks.stats()["feedback"] == {"attached": 6, "stored": 6, "dropped": {}, "pending": 0}
    found = sorted((score.name, score.status.value, str(score.reason_code)) for score in store.scores.page())
    assert found == [
        ("bad", "unscored", "not_attempted"),
        ("bad", "unscored", "scorer_error"),
        ("bad", "unscored", "scorer_error"),
        ("length", "scored", "None"),
        ("length", "scored", "None"),
        ("length", "unscored", "not_attempted"),
    ]


def test_the_whole_text_is_evaluated_where_the_record_is_cut(tmp_path: Path) -> None:
    """langfuse/langfuse#6517."""
    tracehooks.init({"store": f"sqlite:///{tmp_path}/store.db", "capture": {"max_bytes": 100}})
    result = run(data=[{"input": "x" * 500}], scorers=[Length()], target=_plain)
    tracehooks.shutdown(5)
    assert result.scores["length"].mean == 500


def test_what_an_item_adds_to_its_call_stays_with_it(store: Store) -> None:
    """Its further keys are metadata, for scorers that compare."""
    seen: list[Any] = []

    def compare(call: AgentCall) -> float:
        seen.append(call.metadata["expected"])
        return float(call.output == call.metadata["expected"])

    result = run(data=[{"input": "a", "expected": "A"}], scorers=[compare], target=_plain)
    assert (seen, result.scores["compare"].mean) == (["A"], 1.0)


def test_evaluating_leaves_nothing_behind(store: Store) -> None:
    """No listener, and no spans of its items."""
    from tracehooks import runtime

    pipeline = runtime.pipeline()
    assert pipeline is not None
    before = pipeline.listeners, pipeline.starters
    run(data=data_of(3), scorers=[Length()], target=_plain)
    assert (pipeline.listeners, pipeline.starters) == before
