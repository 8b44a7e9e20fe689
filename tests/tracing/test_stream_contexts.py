"""The contexts of generators: the body keeps its own span, and everything else flows as before."""

import contextlib
import contextvars
import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from opentelemetry import context as otel_context
from opentelemetry import trace as otel_trace

import tracehooks
from tests.tracing.spans import attributes, id_of, named, parent_of, status, trace_of
from tracehooks import traced
from tracehooks.testing import MemoryExporter


def three() -> Iterator[str]:
    yield "a"
    yield "b"
    yield "c"


def test_the_callers_context_is_untouched_between_items(memory: MemoryExporter) -> None:
    """The span is current in the body only; the caller's context variables are the same before and after."""
    tracer = memory.provider().get_tracer("app")
    inside: list[int] = []

    @traced
    def agent() -> Iterator[int]:
        for n in range(3):
            inside.append(otel_trace.get_current_span().get_span_context().span_id)
            yield n

    with tracer.start_as_current_span("app") as app:
        before = dict(contextvars.copy_context())
        for _ in agent():
            assert otel_trace.get_current_span() is app
            assert tracehooks.current_trace() is None
            assert dict(contextvars.copy_context()) == before
    span = named(memory, "agent")
    assert set(inside) == {id_of(span)}
    assert parent_of(span) == app.get_span_context().span_id


def test_a_span_held_across_a_yield_is_current_again(memory: MemoryExporter) -> None:
    """What the body opens stays open for it, and never shows in the caller."""
    tracer = memory.provider().get_tracer("app")

    @traced
    def agent() -> Iterator[Any]:
        with tracer.start_as_current_span("held") as held:
            yield held
            assert otel_trace.get_current_span() is held
            with tracehooks.trace_attributes(user_id="u-1"):
                yield held
                assert otel_trace.get_current_span() is held
                tool()
        yield None
        tool()

    @traced(kind="tool")
    def tool() -> None:
        return None

    for held in agent():
        assert otel_trace.get_current_span() is otel_trace.INVALID_SPAN
        assert held is None or held.is_recording()
    first, second = (span for span in memory.spans if span.name == "tool")
    assert parent_of(first) == id_of(named(memory, "held"))
    assert attributes(first)["user.id"] == "u-1"
    assert parent_of(second) == id_of(named(memory, "agent"))
    assert "user.id" not in attributes(second)


def test_each_step_may_run_in_another_context_and_thread(
    memory: MemoryExporter, caplog: pytest.LogCaptureFixture
) -> None:
    """open-telemetry/opentelemetry-python#2606: a web framework steps a stream in a thread pool, each step in
    a copy of its context. The body sees one trace, its own spans nest, and nothing fails to detach."""
    tracer = memory.provider().get_tracer("app")
    seen: list[Any] = []

    @traced
    def agent() -> Iterator[int]:
        for n in range(3):
            with tracer.start_as_current_span(f"held {n}"), tracehooks.trace_attributes(tags=[str(n)]):
                seen.append(tracehooks.current_trace())
                yield n
        seen.append(tracehooks.current_trace())

    with tracer.start_as_current_span("req") as req:
        stream = agent()
    with ThreadPoolExecutor(2) as pool:
        for _ in range(4):
            pool.submit(contextvars.copy_context().run, lambda: next(stream, None)).result()
    span = named(memory, "agent")
    assert parent_of(span) == req.get_span_context().span_id
    assert {ref.span_id for ref in seen} == {f"{id_of(span):016x}"}
    assert all(parent_of(named(memory, f"held {n}")) == id_of(span) for n in range(3))
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


def test_leaving_early_leaves_no_span_current(
    memory: MemoryExporter, caplog: pytest.LogCaptureFixture
) -> None:
    """Closed from another thread, a body that holds spans and attributes detaches without a sound."""
    tracer = memory.provider().get_tracer("app")

    @traced
    def agent() -> Iterator[int]:
        with tracer.start_as_current_span("held"), tracehooks.trace_attributes(user_id="u"):
            yield 1
            yield 2

    stream: Any = agent()
    next(stream)
    thread = threading.Thread(target=stream.close)
    thread.start()
    thread.join()
    assert otel_context.get_current() == {}
    traced(three)()
    next(traced(three)())
    assert {span.name for span in memory.spans} == {"agent", "held", "three"}
    assert trace_of(named(memory, "three")) != trace_of(named(memory, "agent"))
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
other: contextvars.ContextVar[Any] = contextvars.ContextVar("other", default=None)


def sets_and_resets() -> Iterator[Any]:
    token = variable.set("body")
    yield variable.get()
    yield variable.get(), other.get()
    variable.reset(token)
    yield variable.get("unset"), other.get()
    variable.set("last")


class Awkward:
    def __eq__(self, another: object) -> bool:
        raise ValueError("ambiguous")

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("value", ["text", Awkward()])
def test_other_context_variables_flow_as_before(memory: MemoryExporter, value: Any) -> None:
    """The body's own variables reach the caller and the caller's the body, as without the decorator."""

    def consume(stream: Iterator[Any]) -> list[Any]:
        found: list[Any] = [next(stream), variable.get("unset")]
        other.set(value)
        found += [next(stream)[0], variable.get("unset")]
        variable.set("caller")
        found += [next(stream)[0], variable.get("unset")]
        found += [next(stream, None), variable.get("unset"), other.get() is value]
        return found

    plain = contextvars.copy_context().run(consume, sets_and_resets())
    assert contextvars.copy_context().run(consume, traced(sets_and_resets)()) == plain


def test_a_traced_context_manager_works(memory: MemoryExporter) -> None:
    """A generator under ``contextmanager`` that sets a variable for its block still does."""

    @contextlib.contextmanager
    @traced
    def setting(value: str) -> Iterator[str]:
        token = variable.set(value)
        try:
            yield value
        finally:
            variable.reset(token)

    with setting("v") as given:
        assert given == variable.get() == "v"
    assert variable.get("unset") == "unset"
    with pytest.raises(KeyError, match="inside"), setting("v"):
        raise KeyError("inside")
    assert variable.get("unset") == "unset"
    assert [status(span) for span in memory.spans] == ["UNSET", "ERROR"]


def test_interleaved_streams_stay_apart(memory: MemoryExporter) -> None:
    """Two streams that are stepped in turn keep their contexts apart."""

    @traced
    def agent(name: str) -> Iterator[str]:
        for _ in range(3):
            ref = tracehooks.current_trace()
            assert ref is not None
            yield ref.span_id

    for one, two in zip(agent("a"), agent("b"), strict=True):
        assert one != two
    ids = {f"{id_of(span):016x}" for span in memory.spans}
    assert len(ids) == 2
    assert len({trace_of(span) for span in memory.spans}) == 2
