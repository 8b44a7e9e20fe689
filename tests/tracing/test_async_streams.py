"""Async generators: tasks, timeouts, cancel scopes, contexts, and the whole protocol."""

import asyncio
import contextvars
from collections.abc import AsyncGenerator, AsyncIterator
from contextvars import Context
from typing import Any

import anyio
import pytest
from opentelemetry import trace as otel_trace

import tracehooks
from tests.tracing.spans import attributes, id_of, named, only, parent_of, recorded, trace_of
from tracehooks import traced
from tracehooks.testing import MemoryExporter


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
