"""Async generators: ends, tasks, timeouts, cancellation, loops that are gone, and the whole protocol."""

import asyncio
import contextvars
import gc
import logging
import sys
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextvars import Context
from typing import Any

import anyio
import pytest
from opentelemetry import trace as otel_trace

import tracehooks
from tests.tracing.spans import attributes, id_of, named, only, parent_of, recorded, status, trace_of
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


def test_each_step_may_run_in_another_task_and_context(memory: MemoryExporter) -> None:
    """langfuse/langfuse#8447, langfuse/langfuse#5638: created in a handler, iterated after it returned in a
    task with an empty context. The body sees its trace at every step and can set the user."""
    tracer = memory.provider().get_tracer("app")
    seen: list[Any] = []

    @traced
    async def agent() -> AsyncIterator[int]:
        for n in range(3):
            seen.append(tracehooks.current_trace())
            with tracehooks.trace_attributes(user_id="u-1"):
                yield n
            await asyncio.sleep(0)

    async def main() -> None:
        with tracer.start_as_current_span("req") as req:
            stream = agent()
        loop = asyncio.get_running_loop()
        for n in range(3):
            assert await loop.create_task(anext(stream), context=Context()) == n  # type: ignore[arg-type]
        assert await loop.create_task(_collect(stream), context=Context()) == []
        assert parent_of(named(memory, "agent")) == req.get_span_context().span_id

    asyncio.run(main())
    span = named(memory, "agent")
    assert {ref.trace_id for ref in seen} == {trace_of(span)}
    assert attributes(span)["user.id"] == "u-1"
    assert memory.calls[0].user_id == "u-1"


def test_steps_run_in_the_task_of_the_consumer(memory: MemoryExporter) -> None:
    """langfuse/langfuse#13349: the body's current task is the consumer's, so its timeouts and scopes work."""
    tasks: list[Any] = []

    @traced
    async def agent() -> AsyncIterator[int]:
        for n in range(2):
            tasks.append(asyncio.current_task())
            yield n

    async def main() -> None:
        await _collect(agent())
        assert set(tasks) == {asyncio.current_task()}

    asyncio.run(main())


def test_a_timeout_inside_the_body_fires(memory: MemoryExporter) -> None:
    """langfuse/langfuse#13349: ``asyncio.timeout`` around a slow step, within one step and across yields."""

    @traced
    async def within() -> AsyncIterator[str]:
        try:
            async with asyncio.timeout(0.02):
                await asyncio.sleep(5)
        except TimeoutError:
            yield "timeout"

    @traced
    async def across() -> AsyncIterator[str]:
        try:
            async with asyncio.timeout(0.05):
                yield "begun"
                await asyncio.sleep(5)
        except TimeoutError:
            yield "timeout"

    assert asyncio.run(_collect(within())) == ["timeout"]
    assert asyncio.run(_collect(across())) == ["begun", "timeout"]


def test_a_timeout_around_the_consumer_fires(memory: MemoryExporter) -> None:
    """The consumer's own timeout interrupts the body's step and comes out as TimeoutError."""

    @traced
    async def agent() -> AsyncIterator[str]:
        yield "a"
        await asyncio.sleep(5)

    async def main() -> None:
        async with asyncio.timeout(0.02):
            await _collect(agent())

    with pytest.raises(TimeoutError):
        asyncio.run(main())
    assert attributes(only(memory))["tracehooks.complete"] is False


def test_cancel_scopes_and_task_groups_inside_the_body_work(memory: MemoryExporter) -> None:
    """langfuse/langfuse#13349: anyio's scopes and both kinds of task group may live across yields."""

    @traced
    async def agent() -> AsyncIterator[Any]:
        with anyio.move_on_after(0.02) as scope:
            yield "begun"
            await anyio.sleep(5)
        yield scope.cancelled_caught
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep, 0)
            yield "in a group"
        async with asyncio.TaskGroup() as tasks:
            tool = tasks.create_task(in_task())
            yield "in another"
        yield tool.result()

    @traced(kind="tool")
    async def in_task() -> str:
        await asyncio.sleep(0)
        return "done"

    chunks = asyncio.run(_collect(agent()))
    assert chunks == ["begun", True, "in a group", "in another", "done"]
    assert parent_of(named(memory, "in_task")) == id_of(named(memory, "agent"))


async def echo() -> AsyncGenerator[Any, Any]:
    """Takes everything a caller can do to an async generator, waiting here and there."""
    said: list[str] = []
    while True:
        try:
            got = yield "".join(said)
        except KeyError as error:
            await asyncio.sleep(0)
            said.append(f"<{error.args[0]}>")
            continue
        except ZeroDivisionError:
            return
        except GeneratorExit:
            await asyncio.sleep(0)
            if "stay" in said:
                yield "ignored"
            if "last" in said:
                return
            raise
        if got == "stop":
            return
        if got == "break":
            raise StopAsyncIteration
        if got == "stop iteration":
            raise StopIteration
        await asyncio.sleep(0)
        said.append(str(got))


SCRIPTS: list[list[tuple[str, Any]]] = [
    [("__anext__", None), ("asend", "x"), ("asend", "y"), ("asend", "stop"), ("__anext__", None)],
    [("asend", None), ("athrow", KeyError("k")), ("__anext__", None), ("athrow", ZeroDivisionError())],
    [("asend", "too early")],
    [("athrow", KeyError("unbegun")), ("__anext__", None)],
    [("__anext__", None), ("athrow", LookupError("out")), ("__anext__", None)],
    [("__anext__", None), ("aclose", None), ("__anext__", None)],
    [("aclose", None), ("__anext__", None)],
    [("__anext__", None), ("asend", "stay"), ("aclose", None)],
    [("__anext__", None), ("asend", "last"), ("aclose", None), ("__anext__", None)],
    [("__anext__", None), ("athrow", GeneratorExit()), ("__anext__", None)],
    [("__anext__", None), ("athrow", StopAsyncIteration()), ("__anext__", None)],
    [("__anext__", None), ("athrow", StopIteration()), ("__anext__", None)],
    [("__anext__", None), ("asend", "break"), ("__anext__", None)],
    [("__anext__", None), ("asend", "stop iteration"), ("__anext__", None)],
    [("__anext__", None), ("athrow", asyncio.CancelledError("c")), ("__anext__", None)],
]


async def play(stream: Any, script: list[tuple[str, Any]]) -> list[Any]:
    outcomes: list[Any] = []
    for step, argument in script:
        arguments = [] if step in ("__anext__", "aclose") else [argument]
        try:
            outcomes.append(await getattr(stream, step)(*arguments))
        except BaseException as error:
            outcomes.append((type(error), str(error), error is argument))
            outcomes.append((type(error.__cause__), type(error.__context__), str(error.__context__)))
    return outcomes


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_protocol_is_untouched(memory: MemoryExporter, script: list[tuple[str, Any]]) -> None:
    """anext, asend, athrow, aclose and exceptions are those of the undecorated generator."""
    plain = asyncio.run(play(echo(), script))
    assert asyncio.run(play(traced(echo)(), script)) == plain
    assert len(memory.spans) <= 1


def test_stepping_twice_at_once_fails_as_before(memory: MemoryExporter) -> None:
    """A second step while one is running is the generator's own RuntimeError, and the first goes on."""

    async def slow() -> AsyncIterator[int]:
        await asyncio.sleep(0.02)
        yield 1

    async def both(stream: AsyncIterator[int]) -> Any:
        first = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError) as raised:
            await anext(stream)
        return await first, str(raised.value)

    assert asyncio.run(both(traced(slow)())) == asyncio.run(both(slow()))


def test_the_callers_context_is_untouched_between_items(memory: MemoryExporter) -> None:
    """Between items nothing of ours is current, and all context variables are as before."""
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)

    @traced
    async def agent() -> AsyncIterator[int]:
        for n in range(3):
            await asyncio.sleep(0)
            yield n
        variable.set(7)
        yield 3

    async def main() -> None:
        variable.set(1)
        before = dict(contextvars.copy_context())
        async for n in agent():
            if n < 3:
                assert dict(contextvars.copy_context()) == before
        assert variable.get() == 7
        assert not otel_trace.get_current_span().get_span_context().is_valid

    asyncio.run(main())


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


def test_many_at_once(memory: MemoryExporter) -> None:
    """A hundred interleaved streams with tools keep a hundred traces apart."""

    @traced(kind="tool")
    async def tool(n: int) -> int:
        await asyncio.sleep(0)
        return n

    @traced
    async def agent(n: int) -> AsyncIterator[str]:
        for step in range(3):
            await asyncio.sleep(0)
            yield f"{await tool(n)}.{step} "

    async def main() -> None:
        await asyncio.gather(*(_collect(agent(n)) for n in range(100)))

    asyncio.run(main())
    agents = {id_of(span): span for span in memory.spans if span.name == "agent"}
    assert len({trace_of(span) for span in memory.spans}) == len(agents) == 100
    for span in memory.spans:
        if span.name == "tool":
            parent = agents[parent_of(span) or 0]
            assert recorded(parent, "input") == recorded(span, "input")
    for call in memory.calls:
        assert call.output is not None
        assert len({part.split(".")[0] for part in call.output.split()}) == 1
