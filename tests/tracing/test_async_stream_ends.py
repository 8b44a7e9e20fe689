"""Async generators that are left: one end each, by break, error, cancellation, or a loop that is gone."""

import asyncio
import gc
import logging
import sys
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from opentelemetry import trace as otel_trace

import tracehooks
from tests.tracing.spans import attributes, named, only, parent_of, recorded, status, trace_of
from tracehooks import traced
from tracehooks.testing import MemoryExporter


async def three() -> AsyncIterator[str]:
    yield "a"
    await asyncio.sleep(0)
    yield "b"
    yield "c"


async def leave_by_break(stream: AsyncIterator[str]) -> None:
    async for _ in stream:
        break
    del stream
    gc.collect()
    await asyncio.sleep(0.01)


async def leave_by_aclose(stream: Any) -> None:
    await anext(stream)
    await stream.aclose()
    await stream.aclose()


async def leave_by_error(stream: AsyncIterator[str]) -> None:
    async def consume() -> None:
        async for _ in stream:  # noqa: F821 - it is deleted later
            raise error

    error = KeyError("mine")
    with pytest.raises(KeyError) as raised:
        await consume()
    assert raised.value is error
    del stream, consume, raised
    error.__traceback__ = None
    gc.collect()
    await asyncio.sleep(0.01)


async def leave_by_cancellation(stream: AsyncIterator[str]) -> None:
    async def consume() -> None:
        async for _ in stream:  # noqa: F821 - it is deleted later
            await asyncio.sleep(60)

    task = asyncio.create_task(consume())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    del stream, task, consume
    gc.collect()
    await asyncio.sleep(0.01)


LEAVES = [leave_by_break, leave_by_aclose, leave_by_error, leave_by_cancellation]


@pytest.mark.parametrize("leave", LEAVES)
def test_leaving_early(
    memory: MemoryExporter, leave: Callable[[Any], Awaitable[None]], caplog: pytest.LogCaptureFixture
) -> None:
    """mlflow/mlflow#25790, google/adk-python#6559, Arize-ai/openinference#1769, pydantic/logfire#1424: one
    ended span, incomplete, no error; nothing stays current, nothing fails to detach, the next call is a root
    of its own trace."""
    tracer = memory.provider().get_tracer("app")

    @traced
    async def agent() -> AsyncIterator[str]:
        with tracer.start_as_current_span("held"), tracehooks.trace_attributes(tags=["t"]):
            async for chunk in three():
                yield chunk

    @traced
    def following() -> None:
        return None

    async def main() -> None:
        await leave(agent())
        assert not otel_trace.get_current_span().get_span_context().is_valid
        following()

    asyncio.run(main())
    span = named(memory, "agent")
    assert recorded(span, "output") == "a"
    assert attributes(span)["tracehooks.complete"] is False
    assert (status(span), span.events) == ("UNSET", ())
    assert parent_of(named(memory, "following")) is None
    assert trace_of(named(memory, "following")) != trace_of(span)
    assert len(memory.spans) == 3
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


def test_cancelled_inside_a_step(memory: MemoryExporter) -> None:
    """A cancellation that arrives while the body waits reaches the body, the caller, and the span's end."""
    seen: list[str] = []

    @traced
    async def agent() -> AsyncIterator[str]:
        yield "a"
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise
        yield "b"

    async def main() -> None:
        task = asyncio.create_task(_collect(agent()))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    span = only(memory)
    assert seen == ["cancelled"]
    assert (recorded(span, "output"), status(span)) == ("a", "UNSET")
    assert attributes(span)["tracehooks.complete"] is False


async def _collect(stream: AsyncIterator[Any]) -> list[Any]:
    return [chunk async for chunk in stream]


def test_a_stream_left_to_the_loop_is_closed_once(
    memory: MemoryExporter, caplog: pytest.LogCaptureFixture
) -> None:
    """A stream still referenced when its loop ends is closed by it, with the awaits of its cleanup."""
    kept: list[Any] = []
    cleaned: list[str] = []

    @traced
    async def agent() -> AsyncIterator[str]:
        try:
            yield "a"
            yield "b"
        finally:
            await asyncio.sleep(0.01)
            cleaned.append("yes")

    async def main() -> None:
        kept.append(agent())
        await anext(kept[0])

    asyncio.run(main())
    assert cleaned == ["yes"]
    assert recorded(only(memory), "output") == "a"
    assert caplog.records == []


def abandoned(make: Callable[[], Any]) -> Any:
    """A stream that was stepped once, in a loop that is closed without having closed its generators."""
    loop = asyncio.new_event_loop()
    stream = make()

    async def step() -> None:
        await anext(stream)

    loop.run_until_complete(step())
    loop.close()
    return stream


@pytest.mark.parametrize("awaits", [False, True])
def test_collected_after_its_loop_has_closed(memory: MemoryExporter, awaits: bool) -> None:
    """The span ends with the stream although no loop can close it; the body is treated as ever."""
    cleaned: list[str] = []

    async def body() -> AsyncIterator[str]:
        try:
            yield "a"
            yield "b"
        finally:
            if awaits:
                await asyncio.sleep(0)
            cleaned.append("yes")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stream = abandoned(body)
        del stream
        gc.collect()
        plain = list(cleaned)
        cleaned.clear()
        stream = abandoned(traced(body))
        del stream
        gc.collect()
    assert cleaned == plain
    span = only(memory)
    assert recorded(span, "output") == "a"
    assert attributes(span)["tracehooks.complete"] is False


def test_a_task_that_dies_with_its_loop_ends_its_spans(memory: MemoryExporter) -> None:
    """A loop closed while a step waits leaves no span open."""

    @traced
    async def agent() -> AsyncIterator[str]:
        yield "a"
        await asyncio.sleep(60)
        yield "b"

    @traced
    async def outer() -> None:
        async for _ in agent():
            pass

    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)
    task = loop.create_task(outer())
    loop.run_until_complete(asyncio.sleep(0.01))
    loop.close()
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    del task
    gc.collect()
    assert sorted(span.name for span in memory.spans) == ["agent", "outer"]
    assert all(status(span) == "UNSET" for span in memory.spans)


def test_without_any_loop(memory: MemoryExporter) -> None:
    """An async generator may be driven by hand, and collected without hooks."""

    @traced
    async def agent() -> AsyncIterator[str]:
        yield "a"
        yield "b"

    def step(stream: Any) -> Any:
        try:
            stream.__anext__().send(None)
        except StopIteration as stop:
            return stop.value

    stream: Any = agent()
    assert step(stream) == "a"
    del stream
    gc.collect()
    assert recorded(only(memory), "output") == "a"
    assert sys.get_asyncgen_hooks() == (None, None)
