"""``carry_context`` for functions whose bodies run in steps: each step sees what was carried."""

import asyncio
import contextvars
import inspect
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from opentelemetry import trace

import tracehooks
from tests.tracing.spans import attributes, id_of, named, parent_of
from tracehooks import traced
from tracehooks.testing import MemoryExporter

variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="none")


@traced(kind="tool")
def tool(q: str) -> str:
    return q


def pieces(*words: str) -> Iterator[str]:
    """Asks a tool at each step."""
    for word in words:
        yield tool(word)
    tool("last")


async def apieces(*words: str) -> AsyncIterator[str]:
    """The same, async, and waiting in between."""
    for word in words:
        await asyncio.sleep(0)
        yield tool(word)
    tool("last")


def in_thread(function: Any) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


async def collect(stream: Any) -> list[Any]:
    return [piece async for piece in stream]


@pytest.mark.parametrize("form", ["generator", "partial", "async generator"])
def test_the_steps_of_a_generator_are_in_the_carried_context(memory: MemoryExporter, form: str) -> None:
    """huggingface/smolagents#1840: the tools that it calls belong to the agent, session and all."""

    @traced
    def agent() -> list[str]:
        with tracehooks.trace_attributes(session_id="s-1"):
            if form == "async generator":
                carried = tracehooks.carry_context(apieces)
                assert inspect.isasyncgenfunction(carried)
                return list(in_thread(lambda: asyncio.run(collect(carried("a", "b")))))
            inner: Any = pieces if form == "generator" else partial(pieces, "a")
            carried = tracehooks.carry_context(inner)
            assert inspect.isgeneratorfunction(carried)
            given = ("a", "b") if form == "generator" else ("b",)
            return list(in_thread(lambda: [*carried(*given)]))

    assert agent() == ["a", "b"]
    tools = [span for span in memory.spans if span.name == "tool"]
    assert len(tools) == 3
    assert {parent_of(span) for span in tools} == {id_of(named(memory, "agent"))}
    assert {attributes(span)["session.id"] for span in tools} == {"s-1"}


def test_nothing_of_it_reaches_whoever_steps(memory: MemoryExporter) -> None:
    """The current span and the variables between two steps are the caller's own; the body keeps its own."""

    def body() -> Iterator[str]:
        variable.set("body")
        yield variable.get()
        yield variable.get()

    variable.set("carried")
    with trace.get_tracer("t").start_as_current_span("outer"):
        carried = tracehooks.carry_context(body)

    def steps() -> list[str]:
        seen = []
        for piece in carried():
            seen += [piece, variable.get()]
            assert not trace.get_current_span().get_span_context().is_valid
        return seen

    assert in_thread(lambda: contextvars.Context().run(steps)) == ["body", "none"] * 2
    assert variable.get() == "carried"


def test_a_carried_generator_keeps_its_whole_protocol() -> None:
    """What is sent and thrown arrives, ``return`` gives its value, ``close`` runs the body's end."""
    log: list[Any] = []

    def body() -> Any:
        try:
            try:
                log.append((yield 1))
            except KeyError as error:
                log.append(error)
            yield 2
            return "end"
        finally:
            log.append("closed")

    carried: Any = tracehooks.carry_context(body)
    stream = carried()
    assert (next(stream), stream.send("sent")) == (1, 2)
    with pytest.raises(StopIteration) as stop:
        next(stream)
    assert stop.value.value == "end"
    error, stream = KeyError("k"), carried()
    next(stream)
    assert stream.throw(error) == 2
    stream.close()
    assert log == ["sent", "closed", error, "closed"]


def test_a_carried_async_generator_keeps_its_whole_protocol() -> None:
    """The same; its body runs in the task of whoever steps it."""
    log: list[Any] = []

    async def body() -> Any:
        try:
            try:
                log.append((yield asyncio.current_task()))
            except KeyError as error:
                log.append(error)
            yield 2
        finally:
            await asyncio.sleep(0)
            log.append("closed")

    async def main() -> None:
        carried: Any = tracehooks.carry_context(body)
        stream = carried()
        assert await anext(stream) is asyncio.current_task()
        assert await stream.asend("sent") == 2
        assert [piece async for piece in stream] == []
        error, stream = KeyError("k"), carried()
        await anext(stream)
        assert await stream.athrow(error) == 2
        await stream.aclose()
        assert log == ["sent", "closed", error, "closed"]

    asyncio.run(main())


def test_many_at_once(memory: MemoryExporter) -> None:
    """One wrapped function, several generators in several threads, each with a context of its own."""

    def body(n: int) -> Iterator[str]:
        variable.set(str(n))
        for _ in range(20):
            yield variable.get()

    carried = tracehooks.carry_context(body)
    found: dict[int, set[str]] = {}
    threads = [threading.Thread(target=lambda n=n: found.update({n: {*carried(n)}})) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: {str(n)} for n in range(8)}
