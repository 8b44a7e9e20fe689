import itertools
import logging
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.store.making import (
    START,
    Clock,
    agent_span,
    scored,
    span_id,
    tool_span,
    trace_id,
)
from tracehooks.calls import SpanEvent, SpanRecord
from tracehooks.store import Store, open_store


def test_a_span_reads_back_as_it_was_stored(store: Store) -> None:
    """Every field survives, zeros, empty texts, nested values and nulls of JSON included."""
    span = SpanRecord(
        trace_id=trace_id(1),
        span_id=span_id(2),
        parent_span_id=span_id(3),
        name="größe 🙂",
        scope="tracehooks",
        start_ns=1_764_468_000_123_456_789,
        end_ns=1_764_468_001_000_000_001,
        status="error",
        status_message="",
        attributes={
            "zero": 0,
            "no": False,
            "empty": "",
            "list": ["x", "y"],
            "float": 0.1,
            "null\x00": "a\x00b",
        },
        events=(SpanEvent(name="exception", time_ns=5, attributes={"exception.type": "KeyError"}),),
        resource={"service.name": "shop"},
    )
    assert store.spans.add([span]) == 1
    assert store.spans.of_trace(trace_id(1)) == [span]
    assert store.spans.of_trace(trace_id(4)) == []


def test_a_span_handed_over_twice_is_stored_once(store: Store) -> None:
    """An exporter that sends again after a failure doubles nothing; only new spans are counted."""
    assert store.spans.add([agent_span(1), agent_span(2)]) == 2
    assert store.spans.add([agent_span(2), agent_span(3)]) == 1
    assert store.spans.add([agent_span(3)] * 3) == 0
    assert store.spans.add([]) == 0
    assert store.calls.count() == 3


def test_odd_values_do_not_cost_the_batch(store: Store) -> None:
    """A lone surrogate and an integer over 64 bits are stored, with the four good spans of their batch.

    mlflow/mlflow#24123, simonw/llm#546
    """
    odd = agent_span(
        1,
        attributes={
            "tracehooks.output": "ok \ud83e",
            "key \ud83e": 2**70,
            "nested": {"deep": [2**70, float("nan"), "\udc00", {1: {2}}]},
            "emoji": "valid 🤖",
        },
        status_message="why \ud83e\x00",
    )
    assert store.spans.add([odd, *(agent_span(number) for number in range(2, 6))]) == 5
    (stored,) = store.spans.of_trace(trace_id(1))
    assert stored.attributes["tracehooks.output"] == "ok \ufffd"
    assert stored.attributes["key \ufffd"] == str(2**70)
    assert stored.attributes["nested"] == {"deep": [str(2**70), None, "\ufffd", {"1": [2]}]}
    assert stored.attributes["emoji"] == "valid 🤖"
    assert stored.status_message == "why \ufffd\ufffd"
    assert [call.output for call in store.calls.page(limit=2)] == ["ok \ufffd", "answer 2"]


def test_times_beyond_64_bits_do_not_cost_the_batch(store: Store) -> None:
    """A clock gone mad in one process leaves the others' spans alone."""
    mad = replace(agent_span(1), start_ns=-(2**80), end_ns=2**80)
    assert store.spans.add([mad, agent_span(2)]) == 2
    assert trace_id(2) in {call.trace_id for call in store.calls.iterate()}


def test_a_trace_that_cannot_be_read_leaves_the_others_alone(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    """An attribute of an unheard-of type in one trace does not keep the calls of another from being made."""
    strange = replace(agent_span(1), scope="x", attributes={"gen_ai.operation.name": ["invoke_agent"]})
    with caplog.at_level(logging.CRITICAL):
        assert store.spans.add([strange, agent_span(2)]) == 2
    assert [call.trace_id for call in store.calls.iterate()] == [trace_id(2)]


FAMILY = (
    agent_span(1, trace=7),
    tool_span(2, trace=7, parent=1),
    agent_span(3, trace=7, parent=2),
    agent_span(4, trace=7),
)


@pytest.mark.parametrize("sizes", [(4,), (1, 1, 1, 1), (2, 2), (1, 3)])
def test_the_order_of_arrival_does_not_matter(sqlite_url: str, sizes: tuple[int, ...]) -> None:
    """Whatever order and batches a trace's spans come in, its calls are the outermost agent spans."""
    for order in itertools.permutations(FAMILY):
        with open_store(sqlite_url) as store:
            waiting = iter(order)
            for size in sizes:
                store.spans.add(list(itertools.islice(waiting, size)))
            assert [call.span_id for call in store.calls.of_trace(trace_id(7))] == [span_id(1), span_id(4)]
            store.spans.prune(datetime.now(UTC) + timedelta(days=1000))


def test_the_order_of_arrival_does_not_matter_on_any_database(store: Store) -> None:
    """A nested agent span is a call until the outer one is known, and none afterwards."""
    outer, tool, inner, sibling = FAMILY
    store.spans.add([inner])
    assert [call.span_id for call in store.calls.of_trace(trace_id(7))] == [span_id(3)]
    store.spans.add([sibling, outer])
    assert [call.span_id for call in store.calls.of_trace(trace_id(7))] == [
        span_id(1),
        span_id(3),
        span_id(4),
    ]
    store.spans.add([tool])
    assert [call.span_id for call in store.calls.of_trace(trace_id(7))] == [span_id(1), span_id(4)]


def test_pruning_takes_whole_traces_and_keeps_scores(store: Store) -> None:
    """A trace goes when its last span is old; its scores, and what they say of the call, stay."""
    store.spans.add([agent_span(1), tool_span(11, trace=1, parent=1), agent_span(2), agent_span(3)])
    late = agent_span(12, trace=2, parent=2, after=timedelta(hours=2))
    store.spans.add([late])
    store.scores.commit([scored(1, call=store.calls.of_trace(trace_id(1))[0])], project="p", sinks=["jsonl"])
    assert store.spans.prune(START + timedelta(hours=1)) == 3
    assert [call.trace_id for call in store.calls.iterate()] == [trace_id(2)]
    assert len(store.spans.of_trace(trace_id(2))) == 2
    assert store.spans.of_trace(trace_id(1)) == []
    (score,) = store.scores.of_trace(trace_id(1))
    assert (score.value, score.call_name) == (0.5, "support")
    (delivery,) = store.outbox.pending("jsonl", 10, "me", timedelta(minutes=1))
    assert delivery.call is not None
    assert (delivery.call.name, delivery.call.output) == ("support", None)
    assert store.spans.prune(START + timedelta(hours=1)) == 0


def test_pruning_gives_the_space_back(tmp_path: Path, clock: Clock) -> None:
    """The file gets smaller, so that a full disk can be helped."""
    with open_store(f"sqlite:///{tmp_path}/store.db", clock=clock) as store:
        text = {"tracehooks.output": '"' + "x" * 20_000 + '"'}
        for first in range(1, 1201, 300):
            store.spans.add([agent_span(n, attributes=text) for n in range(first, first + 300)])
    full = (tmp_path / "store.db").stat().st_size
    with open_store(f"sqlite:///{tmp_path}/store.db", clock=clock) as store:
        assert store.spans.prune(START + timedelta(days=1)) == 1200
        assert store.check() == []
    assert (tmp_path / "store.db").stat().st_size < full / 20


def test_every_kind_of_call_is_listed(store: Store) -> None:
    """LangGraph's and LlamaIndex's runs are recorded as chains; an entry counts where there is no agent."""
    scopes = {1: "openinference.instrumentation.langchain", 2: "somebody"}
    chain = {"openinference.span.kind": "CHAIN", "output.value": "Hello."}
    spans = [
        replace(agent_span(number), scope=scope, name="LangGraph", attributes=chain)
        for number, scope in scopes.items()
    ]
    assert store.spans.add([*spans, agent_span(3)]) == 3
    assert {call.trace_id for call in store.calls.latest(10)} == {trace_id(number) for number in (1, 2, 3)}
