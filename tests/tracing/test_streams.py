"""Generators: the span ends once on every exit, the protocol stays as it was, and nothing is kept."""

import contextlib
import gc
import itertools
import tracemalloc
import warnings
import weakref
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest

import tracehooks
from tests.tracing.spans import attributes, only, recorded, status
from tracehooks import traced
from tracehooks.testing import MemoryExporter


def three() -> Iterator[str]:
    yield "a"
    yield "b"
    yield "c"


def leave_by_break(stream: Iterator[str]) -> None:
    for _ in stream:
        break
    del stream
    gc.collect()


def leave_by_close(stream: Any) -> None:
    next(stream)
    stream.close()
    stream.close()


def leave_by_islice(stream: Iterator[str]) -> None:
    assert list(itertools.islice(stream, 1)) == ["a"]
    del stream
    gc.collect()


def leave_by_error(stream: Iterator[str]) -> None:
    def consume() -> None:
        for _ in stream:  # noqa: F821 - it is deleted later
            raise error

    error = KeyError("mine")
    with pytest.raises(KeyError) as raised:
        consume()
    assert raised.value is error
    del stream, consume, raised
    error.__traceback__ = None
    gc.collect()


def leave_in_a_cycle(stream: Iterator[str]) -> None:
    next(stream)
    loop: dict[str, Any] = {"stream": stream}
    loop["self"] = loop
    del stream, loop
    gc.collect()


LEAVES = [leave_by_break, leave_by_close, leave_by_islice, leave_by_error, leave_in_a_cycle]


@pytest.mark.parametrize("leave", LEAVES)
def test_leaving_early_ends_the_span_once(memory: MemoryExporter, leave: Callable[[Any], None]) -> None:
    """mlflow/mlflow#25790, traceloop/openllmetry#3151, openlit/openlit#1454: one ended span, with the chunks
    seen so far, marked as incomplete and not as an error."""
    leave(traced(three)())
    span = only(memory)
    assert recorded(span, "output") == "a"
    assert attributes(span)["tracehooks.complete"] is False
    assert "finish_reason" not in attributes(span)["gen_ai.output.messages"]
    assert (status(span), span.events) == ("UNSET", ())


def test_a_stream_read_to_its_end_is_complete(memory: MemoryExporter) -> None:
    """Nothing says that it was left."""
    assert list(traced(three)()) == ["a", "b", "c"]
    assert "tracehooks.complete" not in attributes(only(memory))
    assert recorded(only(memory), "output") == "abc"


def test_streams_never_begun_start_no_span(memory: MemoryExporter) -> None:
    """traceloop/openllmetry#3151, mlflow/mlflow#25790: 10,000 generators never stepped leave nothing."""

    async def chunks(q: int) -> Any:
        yield q

    sync_agent, async_agent = traced(three), traced(chunks)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sync_agent(), async_agent(1)
        gc.collect()
        tracemalloc.start()
        for n in range(5000):
            sync_agent()
            async_agent(n)
        gc.collect()
        grown, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert grown < 1_000_000
    assert memory.spans == ()
    assert tracehooks.stats()["started"] == 0


def test_a_closed_unbegun_stream_stays_unbegun(memory: MemoryExporter) -> None:
    """Closing before the first step runs nothing, as with any generator."""
    stream: Any = traced(three)()
    stream.close()
    assert list(stream) == []
    assert memory.spans == ()


def echo() -> Generator[Any, Any, str]:
    """Takes everything a caller can do to a generator."""
    said: list[str] = []
    while True:
        try:
            got = yield "".join(said)
        except KeyError as error:
            said.append(f"<{error.args[0]}>")
            continue
        except ZeroDivisionError:
            return "divided"
        except GeneratorExit:
            if "stay" in said:
                yield "ignored"
            if "last" in said:
                return "closed"
            raise
        if got == "stop":
            return "stopped"
        if got == "break":
            raise StopIteration
        said.append(str(got))


SCRIPTS: list[list[tuple[str, Any]]] = [
    [("next", None), ("send", "x"), ("send", "y"), ("send", "stop"), ("next", None)],
    [("send", None), ("throw", KeyError("k")), ("next", None), ("throw", ZeroDivisionError())],
    [("send", "too early")],
    [("throw", KeyError("unbegun")), ("next", None)],
    [("next", None), ("throw", LookupError("out")), ("next", None)],
    [("next", None), ("close", None), ("next", None)],
    [("close", None), ("next", None)],
    [("next", None), ("send", "stay"), ("close", None)],
    [("next", None), ("send", "last"), ("close", None), ("next", None)],
    [("next", None), ("throw", GeneratorExit()), ("next", None)],
    [("next", None), ("send", "last"), ("throw", GeneratorExit())],
    [("next", None), ("throw", StopIteration("mine")), ("next", None)],
    [("next", None), ("send", "break"), ("next", None)],
    [("next", None), ("throw", KeyboardInterrupt()), ("next", None)],
]


def play(stream: Any, script: list[tuple[str, Any]]) -> list[Any]:
    """What the script's steps give; of exceptions the type, the text, and whether it is the very same."""
    outcomes: list[Any] = []
    for step, argument in script:
        try:
            if step == "next":
                outcomes.append(next(stream))
            else:
                outcomes.append(getattr(stream, step)(*([] if step == "close" else [argument])))
        except BaseException as error:
            outcomes.append((type(error), str(error), getattr(error, "value", None), error is argument))
            context = error.__context__
            outcomes.append((type(error.__cause__), type(context), str(context)))
    return outcomes


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_protocol_is_untouched(memory: MemoryExporter, script: list[tuple[str, Any]]) -> None:
    """next, send, throw, close, return values and exceptions are those of the undecorated generator."""
    plain = play(echo(), script)
    assert play(traced(echo)(), script) == plain
    assert len(memory.spans) <= 1


def test_the_return_value_goes_through_yield_from(memory: MemoryExporter) -> None:
    """``yield from`` a traced generator gives its return value."""

    @traced
    def inner() -> Generator[int, None, str]:
        yield 1
        return "done"

    def outer() -> Generator[int, None, None]:
        assert (yield from inner()) == "done"

    assert list(outer()) == [1]
    assert recorded(only(memory), "output") == [1]


def test_reentry_fails_as_before(memory: MemoryExporter) -> None:
    """A generator that steps itself raises ValueError, decorated or not."""

    def body() -> Iterator[int]:
        with pytest.raises(ValueError, match="generator already executing"):
            next(streams[-1])
        yield 1

    streams: list[Any] = []
    for make in (body, traced(body)):
        streams.append(make())
        assert list(streams[-1]) == [1]


def test_the_generator_is_named_as_before() -> None:
    """Warnings and tracebacks show the function's name."""
    plain, stream = three(), traced(three)()
    assert (stream.__name__, stream.__qualname__) == (plain.__name__, plain.__qualname__)  # type: ignore[attr-defined]


def test_nothing_keeps_a_finished_stream_alive(memory: MemoryExporter) -> None:
    """Neither the wrapper nor an exception that went through it holds the chunks."""

    class Chunk:
        pass

    @traced
    def agent() -> Iterator[Chunk]:
        yield Chunk()
        raise KeyError("x")

    def consume() -> weakref.ref[Chunk]:
        stream = agent()
        reference = weakref.ref(next(stream))
        with contextlib.suppress(KeyError):
            next(stream)
        return reference

    gc.collect()
    gc.disable()
    try:
        assert consume()() is None
    finally:
        gc.enable()


def test_the_buffer_is_bounded(memory: MemoryExporter) -> None:
    """A stream of a gigabyte keeps two megabytes, says so, and gives the caller every chunk."""
    chunk = "x" * 1_000_000

    @traced
    def agent() -> Iterator[str]:
        for n in range(300):
            yield chunk if n % 2 else f"{n}" * 500_000

    tracemalloc.start()
    assert sum(map(len, agent())) > 150_000_000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60_000_000
    found = recorded(only(memory), "output")
    assert found["truncated"] is True
    assert found["length"] > 150_000_000


def test_unsampled_streams_work(memory: MemoryExporter) -> None:
    """A stream whose trace is not sampled passes unrecorded, and so do the calls inside it."""
    from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

    tracehooks.init({"store": ""}, tracer_provider=memory.provider(sampler=ALWAYS_OFF))

    @traced(kind="tool")
    def tool() -> int:
        return 1

    @traced
    def agent() -> Iterator[Any]:
        yield tool()
        yield tracehooks.current_trace()

    assert list(agent()) == [1, None]
    assert memory.spans == ()
