"""Functions that return a stream or an awaitable: the call ends with it, and it stays what it was."""

import asyncio
import csv
import gc
import inspect
import io
import threading
import warnings
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace, TracebackType
from typing import Any

import pytest
from opentelemetry import trace as otel_trace

from tests.tracing.spans import attributes, id_of, named, only, parent_of, recorded, status
from tracehooks import traced
from tracehooks.testing import MemoryExporter


class Stream:
    """A client's stream object: an iterator with more to it."""

    def __init__(self, chunks: list[Any], error: Exception | None = None) -> None:
        self.response = "200"
        self.closed = False
        self._chunks = iter(chunks)
        self._error = error

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        for one in self._chunks:
            return one
        if self._error is not None:
            raise self._error
        raise StopIteration

    def __enter__(self) -> "Stream":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> str:
        self.closed = True
        return "closed"

    def __len__(self) -> int:
        return 3


class AsyncStream:
    def __init__(self, chunks: list[Any]) -> None:
        self.response = "200"
        self.closed = False
        self._chunks = iter(chunks)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        await asyncio.sleep(0)
        for one in self._chunks:
            return one
        raise StopAsyncIteration

    async def __aenter__(self) -> "AsyncStream":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> str:
        await asyncio.sleep(0)
        self.closed = True
        return "closed"


@pytest.mark.parametrize(
    "make",
    [
        lambda: (c for c in "abc"),
        lambda: iter("abc"),
        lambda: map(str, "abc"),
        lambda: filter(None, "abc"),
        lambda: Stream(["a", "b", "c"]),
    ],
)
def test_an_iterator_ends_the_call_when_exhausted(memory: MemoryExporter, make: Any) -> None:
    """The caller gets every chunk, the record their text, and only at the end."""
    stream = traced(make)()
    assert next(stream) == "a"
    assert memory.spans == ()
    assert list(stream) == ["b", "c"]
    assert list(stream) == []
    assert recorded(only(memory), "output") == "abc"
    assert "tracehooks.complete" not in attributes(only(memory))


@pytest.mark.parametrize(
    "make",
    [
        lambda: ["a"],
        lambda: ("a",),
        lambda: {"a": 1},
        lambda: {"a"},
        lambda: "abc",
        lambda: range(3),
        lambda: b"abc",
        lambda: {"a": 1}.keys(),
        lambda: io.StringIO("a\nb"),
        lambda: SimpleNamespace(a=1),
        object,
        threading.Lock,
        Future,
    ],
)
def test_everything_else_is_the_very_same_object(memory: MemoryExporter, make: Any) -> None:
    """Collections, files and objects are handed back untouched, and end the call."""
    result = make()
    assert traced(lambda: result)() is result
    assert len(memory.spans) == 1


def test_an_open_file_is_no_stream(memory: MemoryExporter, tmp_path: Path) -> None:
    """A file can be iterated, but it is a file."""
    path = tmp_path / "f"
    path.write_text("x\n")
    with path.open() as file:
        assert traced(lambda: file)() is file
        assert list(file) == ["x\n"]
    assert recorded(only(memory), "output") == "<_io.TextIOWrapper>"


def test_a_stream_object_stays_what_it_is(memory: MemoryExporter) -> None:
    """Attributes, methods, ``with``, ``len``, ``isinstance``: all as on the stream itself."""
    original = Stream(["a", "b"])
    stream = traced(lambda: original)()
    assert isinstance(stream, Stream)
    assert (stream.response, len(stream), repr(stream)) == ("200", 3, repr(original))
    stream.response = "201"
    assert original.response == "201"
    assert not hasattr(stream, "missing")
    assert set(dir(stream)) == set(dir(original))
    assert not hasattr(stream, "send")
    with stream as entered:
        assert entered is stream
        assert [*stream] == ["a", "b"]
    assert original.closed
    assert recorded(only(memory), "output") == "ab"


def test_closing_a_stream_early(memory: MemoryExporter) -> None:
    """close() closes the stream, gives what that gives, and ends the call as incomplete."""
    original = Stream(["a", "b"])
    stream = traced(lambda: original)()
    assert next(stream) == "a"
    assert stream.close() == "closed"
    assert original.closed
    assert attributes(only(memory))["tracehooks.complete"] is False
    assert recorded(only(memory), "output") == "a"


@pytest.mark.parametrize("steps", [0, 1])
@pytest.mark.parametrize("make", [lambda: Stream(["a", "b"]), lambda: (c for c in "ab")])
def test_dropping_a_stream_ends_the_call(memory: MemoryExporter, make: Any, steps: int) -> None:
    """traceloop/openllmetry#3151: a stream that nobody reads to its end, or at all, leaves no open span."""
    stream = traced(make)()
    for _ in range(steps):
        next(stream)
    del stream
    gc.collect()
    assert attributes(only(memory))["tracehooks.complete"] is False
    assert recorded(only(memory), "output") == ("a" if steps else [])


def test_an_error_in_a_stream_is_the_calls_error(memory: MemoryExporter) -> None:
    """The same exception object reaches the caller, and what came before is kept."""
    error = ConnectionError("lost")
    stream = traced(lambda: Stream(["a"], error))()
    with pytest.raises(ConnectionError) as raised:
        list(stream)
    assert raised.value is error
    span = only(memory)
    assert (status(span), span.status.description) == ("ERROR", "ConnectionError: lost")
    assert recorded(span, "output") == "a"


def test_the_steps_of_a_returned_generator_belong_to_the_call(memory: MemoryExporter) -> None:
    """What runs while the stream is read is inside the call; between two chunks nothing of it is."""

    @traced(kind="tool")
    def tool() -> str:
        return "t"

    @traced
    def agent() -> Iterator[str]:
        tool()
        return (tool() for _ in range(2))

    for _ in agent():
        assert otel_trace.get_current_span() is otel_trace.INVALID_SPAN
    tools = [span for span in memory.spans if span.name == "tool"]
    assert len(tools) == 3
    assert {parent_of(span) for span in tools} == {id_of(named(memory, "agent"))}


def test_returned_generators_are_generators(memory: MemoryExporter) -> None:
    """inspect sees in the result what it saw before."""

    async def async_body() -> AsyncIterator[int]:
        yield 1

    assert inspect.isgenerator(traced(lambda: (c for c in "a"))())
    assert inspect.isasyncgen(traced(lambda: async_body())())


def test_async_streams(memory: MemoryExporter) -> None:
    """The same for async streams, returned by plain and by async functions, closed sync or async."""

    @traced
    def returns() -> AsyncStream:
        return AsyncStream(["a", "b"])

    @traced
    async def awaits() -> AsyncStream:
        return AsyncStream(["a", "b"])

    async def main() -> None:
        async with returns() as stream:
            assert isinstance(stream, AsyncStream)
            assert [chunk async for chunk in stream] == ["a", "b"]
        assert stream.closed
        stream = await awaits()
        assert await anext(stream) == "a"
        assert await stream.close() == "closed"

    asyncio.run(main())
    first, second = memory.spans
    assert (recorded(first, "output"), recorded(second, "output")) == ("ab", "a")
    assert attributes(second)["tracehooks.complete"] is False


def test_a_coroutine_returned_by_a_plain_function(memory: MemoryExporter) -> None:
    """The call lasts until the coroutine is done, and is parent of what it does."""

    @traced(kind="tool")
    async def tool() -> str:
        return "t"

    @traced
    def agent(question: str) -> Coroutine[Any, Any, str]:
        async def answer() -> str:
            return question + await tool()

        return answer()

    coroutine = agent("hi ")
    assert inspect.iscoroutine(coroutine)
    assert memory.spans == ()
    assert asyncio.run(coroutine) == "hi t"
    assert recorded(named(memory, "agent"), "output") == "hi t"
    assert parent_of(named(memory, "tool")) == id_of(named(memory, "agent"))


def test_a_coroutine_that_is_never_awaited_warns_once(memory: MemoryExporter) -> None:
    """Python's warning is the one that comes without the decorator, and the span ends."""

    async def answer() -> str:
        return "a"

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        traced(lambda: answer())()  # type: ignore[unused-coroutine]
        gc.collect()
    said = [str(warning.message) for warning in caught]
    caught.clear()  # a warning holds its coroutine
    assert said == [f"coroutine '{answer.__qualname__}' was never awaited"]
    assert attributes(only(memory))["tracehooks.complete"] is False


def test_a_future_is_handed_on_and_ends_the_call(memory: MemoryExporter) -> None:
    """A task or future is the very same object, and its outcome the call's."""

    async def main() -> None:
        async def answer(text: str) -> str:
            if not text:
                raise KeyError("empty")
            return text

        task = asyncio.ensure_future(answer("a"))
        assert traced(lambda: task)() is task
        assert await task == "a"
        failing = traced(lambda: asyncio.ensure_future(answer("")))()
        with pytest.raises(KeyError):
            await failing
        cancelled = traced(lambda: asyncio.get_running_loop().create_future())()
        cancelled.cancel()
        await asyncio.sleep(0)

    asyncio.run(main())
    done, failed, gone = memory.spans
    assert (recorded(done, "output"), status(failed), status(gone)) == ("a", "ERROR", "UNSET")
    assert attributes(gone)["tracehooks.complete"] is False


def test_readers_of_the_standard_library(memory: MemoryExporter) -> None:
    """A csv reader keeps its own attributes."""
    reader = traced(lambda: csv.reader(["a,b", "c,d"]))()
    assert list(reader) == [["a", "b"], ["c", "d"]]
    assert reader.line_num == 2
