"""Exceptions: the same object to the caller, one event and a status on the span; signals are no errors."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

import tracehooks
from tests.tracing.spans import attributes, only, recorded, status
from tracehooks import traced
from tracehooks.testing import MemoryExporter


class Pause(Exception):  # noqa: N818
    """A framework's signal to pause."""


class PauseForInput(Pause):
    """A kind of it."""


def raising(error: BaseException, shape: str, **options: Any) -> Callable[[], Any]:
    """A traced function of a shape that raises; calling it runs it to the end."""

    @traced(**options)
    def sync() -> None:
        raise error

    @traced(**options)
    async def coroutine() -> None:
        await asyncio.sleep(0)
        raise error

    @traced(**options)
    def generator() -> Iterator[str]:
        yield "a"
        raise error

    @traced(**options)
    async def async_generator() -> AsyncIterator[str]:
        yield "a"
        raise error

    async def consume() -> None:
        async for _ in async_generator():
            pass

    return {
        "sync": sync,
        "coroutine": lambda: asyncio.run(coroutine()),
        "generator": lambda: list(generator()),
        "async_generator": lambda: asyncio.run(consume()),
    }[shape]


SHAPES = pytest.mark.parametrize("shape", ["sync", "coroutine", "generator", "async_generator"])


@SHAPES
@pytest.mark.parametrize(
    ("error", "description", "kind"),
    [
        (ValueError(), "ValueError", "ValueError"),
        (ValueError("bad"), "ValueError: bad", "ValueError"),
        (KeyError("k"), "KeyError: 'k'", "KeyError"),
        (Pause("x"), "Pause: x", f"{__name__}.Pause"),
        (ExceptionGroup("all", [ValueError()]), "ExceptionGroup: all (1 sub-exception)", "ExceptionGroup"),
    ],
)
def test_a_failure(memory: MemoryExporter, shape: str, error: Exception, description: str, kind: str) -> None:
    """langfuse/langfuse-python#1417: in all four shapes, with or without a message: ERROR with the type's
    name, one exception event, and the same object at the caller."""
    with pytest.raises(type(error)) as raised:
        raising(error, shape)()
    assert raised.value is error
    span = only(memory)
    assert (status(span), span.status.description) == ("ERROR", description)
    (event,) = span.events
    found = dict(event.attributes or {})
    assert (event.name, found["exception.type"], found["exception.message"]) == (
        "exception",
        kind,
        str(error),
    )
    assert "test_exceptions.py" in str(found["exception.stacktrace"])
    assert "tracehooks/tracing/wrappers.py" not in str(found["exception.stacktrace"])
    assert attributes(span)["error.type"] == kind


@SHAPES
@pytest.mark.parametrize("error", [Pause(), PauseForInput("why?")])
def test_control_flow_is_no_error(memory: MemoryExporter, shape: str, error: Exception) -> None:
    """open-telemetry/opentelemetry-python#4484, aegra/aegra#427: a pause propagates, subclasses too, and
    the span has no error."""
    with pytest.raises(Pause) as raised:
        raising(error, shape, control_flow=(Pause,))()
    assert raised.value is error
    span = only(memory)
    assert (status(span), span.events, "error.type" in attributes(span)) == ("UNSET", (), False)
    assert attributes(span)["tracehooks.complete"] is False


@SHAPES
def test_other_errors_stay_errors(memory: MemoryExporter, shape: str) -> None:
    """aegra/aegra#427: declaring a signal does not hide real failures."""
    with pytest.raises(ValueError, match="bad"):
        raising(ValueError("bad"), shape, control_flow=Pause)()
    assert status(only(memory)) == "ERROR"


@SHAPES
@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), asyncio.CancelledError()])
def test_leaving_the_program_is_no_error(memory: MemoryExporter, shape: str, error: BaseException) -> None:
    """Interrupts, exits and cancellations propagate; the call is incomplete, not failed."""
    with pytest.raises(type(error)):
        raising(error, shape)()
    span = only(memory)
    assert (status(span), span.events) == ("UNSET", ())
    assert attributes(span)["tracehooks.complete"] is False


def test_a_stop_iteration_of_a_plain_function_is_no_error(memory: MemoryExporter) -> None:
    """A traced ``__next__`` ends its iteration as Python wants it."""

    class Numbers:
        def __iter__(self) -> Iterator[int]:
            return self

        @traced
        def __next__(self) -> int:
            raise StopIteration

    assert list(Numbers()) == []
    assert status(only(memory)) == "UNSET"


def test_closing_is_no_error(memory: MemoryExporter) -> None:
    """open-telemetry/opentelemetry-python#4484: a stream closed after one chunk has no error."""

    @traced
    def agent() -> Iterator[str]:
        yield "a"
        yield "b"

    stream: Any = agent()
    next(stream)
    stream.close()
    assert (status(only(memory)), only(memory).events) == ("UNSET", ())


def test_an_error_while_closing_is_one(memory: MemoryExporter) -> None:
    """A cleanup that fails comes out of close(), and is the span's error."""

    @traced
    def agent() -> Iterator[str]:
        try:
            yield "a"
        finally:
            raise KeyError("cleanup")

    stream: Any = agent()
    next(stream)
    with pytest.raises(KeyError, match="cleanup"):
        stream.close()
    assert only(memory).status.description == "KeyError: 'cleanup'"


def test_nested_failures_have_one_event_each(memory: MemoryExporter) -> None:
    """An exception that passes two traced functions is recorded once on each span."""

    @traced(kind="tool")
    def tool() -> None:
        raise KeyError("k")

    @traced
    def agent() -> None:
        tool()

    with pytest.raises(KeyError):
        agent()
    assert [len(span.events) for span in memory.spans] == [1, 1]


class Unspeakable(Exception):  # noqa: N818
    def __str__(self) -> str:
        raise RuntimeError("no words")


def test_an_exception_that_cannot_be_shown(memory: MemoryExporter) -> None:
    """Its type is recorded, and it reaches the caller."""
    error = Unspeakable()
    with pytest.raises(Unspeakable) as raised:
        raising(error, "sync")()
    assert raised.value is error
    assert only(memory).status.description == "Unspeakable"


def test_huge_and_odd_messages_are_cut(memory: MemoryExporter) -> None:
    """A message of 50 MB and half a surrogate pair become valid text of bounded size, quickly."""
    with pytest.raises(ValueError, match="x"):
        raising(ValueError("x\ud83e" + "y" * 50_000_000), "sync")()
    (event,) = only(memory).events
    for value in (*(event.attributes or {}).values(), only(memory).status.description):
        assert len(str(value)) <= 32_000
        str(value).encode()
    assert str(only(memory).status.description).startswith("ValueError: x�y")


class Broken(SpanProcessor):
    """A processor that fails at one of its duties."""

    def __init__(self, at: str) -> None:
        self._at = at

    def on_start(self, span: Span, parent_context: Any = None) -> None:
        if self._at == "start":
            raise RuntimeError("secret start")

    def on_end(self, span: ReadableSpan) -> None:
        if self._at == "end":
            raise RuntimeError("secret end")


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no")

    __str__ = __repr__

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __eq__(self, other: object) -> Any:
        return [self, other]

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("at", ["start", "end"])
def test_the_observer_never_breaks_the_observed(
    memory: MemoryExporter, caplog: pytest.LogCaptureFixture, at: str
) -> None:
    """The-PR-Agent/pr-agent#2864: a failing span processor, a result that cannot be shown: results and
    exceptions are the very same objects, each function runs once, one warning is logged."""
    provider = memory.provider()
    provider.add_span_processor(Broken(at))
    tracehooks.init({"store": ""}, tracer_provider=provider)
    calls: list[str] = []
    result, error = Unprintable(), KeyError("k")

    @traced
    def gives(value: Any) -> Any:
        calls.append("gives")
        return result

    @traced
    async def gives_later(value: Any) -> Any:
        calls.append("gives_later")
        return result

    @traced
    def raises() -> None:
        calls.append("raises")
        raise error

    @traced
    def yields() -> Iterator[Any]:
        calls.append("yields")
        yield result

    assert gives(result) is result
    assert asyncio.run(gives_later(result)) is result
    assert next(yields()) is result
    with pytest.raises(KeyError) as raised:
        raises()
    assert raised.value is error
    assert sorted(calls) == ["gives", "gives_later", "raises", "yields"]
    ours = [r for r in caplog.records if r.name == "tracehooks"]
    assert len(ours) == 1
    assert ours[0].levelno == logging.WARNING
    assert "secret" not in caplog.text


def test_a_failing_processor_does_not_keep_a_span_from_our_listeners(memory: MemoryExporter) -> None:
    """Whatever an application's processor does, the call reaches the store and the hooks."""
    heard: list[str] = []
    provider = memory.provider()
    provider.add_span_processor(Broken("end"))
    tracehooks.init({"store": ""}, tracer_provider=provider)
    pipeline = tracehooks.runtime.pipeline()
    assert pipeline is not None
    pipeline.listen(lambda span, full, hooks: heard.append(recorded(span, "output")))
    assert traced(lambda: "a")() == "a"
    assert heard == ["a"]
    assert tracehooks.stats()["ended"] == 1


def test_a_span_that_the_application_ends_itself(
    memory: MemoryExporter, caplog: pytest.LogCaptureFixture
) -> None:
    """Ending the current span in the body is the application's right; ours does not end it again."""
    from opentelemetry import trace

    @traced
    def agent() -> str:
        trace.get_current_span().end()
        return "a"

    assert agent() == "a"
    assert len(memory.spans) == 1
    assert tracehooks.stats()["ended"] == 1
    assert caplog.records == []


def test_a_result_that_cannot_be_shown_is_recorded_as_its_type(memory: MemoryExporter) -> None:
    """The record says what it was."""
    traced(lambda: Unprintable())()
    assert recorded(only(memory), "output") == f"<{__name__}.Unprintable>"
