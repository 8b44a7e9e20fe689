"""What a value raises while it is recorded is never the caller's, whatever it is; what a signal raises is."""

import asyncio
import contextvars
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from types import FrameType
from typing import Any

import pytest

import tracehooks
from tests.tracing.spans import attributes, only, recorded, status
from tracehooks import traced
from tracehooks.testing import MemoryExporter

KINDS = [SystemExit, KeyboardInterrupt, asyncio.CancelledError, GeneratorExit, BaseException]


def _raising(kind: type[BaseException]) -> dict[str, Any]:
    """Values of which some method raises ``kind``."""

    def fail(*_: Any, **__: Any) -> Any:
        raise kind

    everything = dict.fromkeys(("__str__", "__repr__", "__len__", "__iter__", "__eq__", "__bool__"), fail)
    return {
        "__str__": type("Shown", (), everything)(),
        "__getattr__": type("Asked", (), {"__getattr__": fail, "__str__": fail})(),
        "a property": type("Reply", (), {"usage": property(fail), "role": property(fail), "__str__": fail})(),
        "a field": type("Data", (), {"__dataclass_fields__": {"a": 1}, "a": property(fail)})(),
        "model_dump": type("Model", (), {"model_dump": fail, "model_fields": {}})(),
        "a dict": type("Angry", (dict,), {"items": fail, "__iter__": fail})(a=1),
        "inside": {"deep": [type("Shown", (), {"__str__": fail})()]},
        "an error": type("Wrong", (Exception,), {"__str__": fail})(),
        "a number": type("Odd", (int,), {"__int__": fail, "__index__": fail})(2**70),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_that_a_value_raises_reaches_the_caller(
    memory: MemoryExporter, kind: type[BaseException]
) -> None:
    """Given or returned, by every shape: the body runs once, the span ends once."""
    ran = []

    @traced
    def plain(value: Any) -> Any:
        ran.append(1)
        return value

    @traced
    async def later(value: Any) -> Any:
        ran.append(1)
        return value

    @traced
    def stream(value: Any) -> Iterator[Any]:
        ran.append(1)
        yield value

    @traced(reduce=lambda chunks: chunks)
    async def astream(value: Any) -> AsyncIterator[Any]:
        ran.append(1)
        yield value

    async def collect(value: Any) -> Any:
        return [chunk async for chunk in astream(value)]

    same = []  # and not asserted at once: pytest would want to show the values
    loop = asyncio.new_event_loop()  # asyncio.run shows the result itself, when it looks at signal handlers
    for value in _raising(kind).values():
        same.append(plain(value) is value)
        same.append(loop.run_until_complete(later(value)) is value)
        same.append(next(iter([*stream(value)])) is value)
        same.append(loop.run_until_complete(collect(value))[0] is value)
    loop.close()
    assert all(same)
    assert len(ran) == len(memory.spans) == 4 * len(_raising(kind))
    counts = tracehooks.stats()
    assert counts["started"] == counts["ended"] == len(ran)


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_that_cannot_be_shown_is_the_error_that_the_caller_gets(
    memory: MemoryExporter, kind: type[BaseException]
) -> None:
    """The very same one."""
    error = _raising(kind)["an error"]

    @traced
    def agent() -> None:
        raise error

    with pytest.raises(Exception) as caught:
        agent()
    assert caught.value is error
    assert status(only(memory)) == "ERROR"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", ["mask", "reduce", "listener", "attributes", "context variable"])
def test_nothing_that_the_applications_own_functions_raise_reaches_the_caller(
    kind: type[BaseException], place: str
) -> None:
    """A mask, a reduction, a listener, a tag, a comparison."""
    exporter = MemoryExporter()
    raising = _raising(kind)["__str__"]

    def fail(*_: Any) -> Any:
        raise kind

    mask: Callable[[str], str] | None = fail if place == "mask" else None
    tracehooks.init({"store": ""}, tracer_provider=exporter.provider(), mask=mask)
    pipeline = tracehooks.runtime.pipeline()
    assert pipeline is not None
    if place == "listener":
        pipeline.listen(fail)
    variable: contextvars.ContextVar[Any] = contextvars.ContextVar("variable")

    @traced(reduce=fail if place == "reduce" else None)
    def stream(q: str) -> Iterator[str]:
        variable.set(raising if place == "context variable" else 1)
        yield "a"
        variable.set(raising if place == "context variable" else 2)
        yield "b"

    def run() -> list[str]:
        with tracehooks.trace_attributes(user_id=raising if place == "attributes" else "u"):
            return [*stream("q")]

    assert contextvars.copy_context().run(run) == ["a", "b"]
    assert len(exporter.spans) == 1


class Slow:
    """Takes long to say what it is."""

    def __str__(self) -> str:
        end = time.monotonic() + 5
        while time.monotonic() < end:
            pass
        return "slow"


def _stop(number: int, frame: FrameType | None) -> None:
    raise SystemExit(7)


@pytest.mark.parametrize(
    ("handler", "expected"), [(signal.default_int_handler, KeyboardInterrupt), (_stop, SystemExit)]
)
@pytest.mark.parametrize("shape", ["input", "output", "chunk"])
def test_what_a_signal_raises_meanwhile_reaches_the_caller(
    memory: MemoryExporter, handler: Any, expected: type[BaseException], shape: str
) -> None:
    """Ctrl-C, and an application's own handler of a signal, stop what is going on; the span still ends."""

    @traced
    def agent(value: Any) -> Any:
        return value if shape == "output" else None

    @traced
    def stream(value: Any) -> Iterator[Any]:
        yield Slow()

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(expected):
            [*stream(1)] if shape == "chunk" else agent(Slow())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    counts = tracehooks.stats()
    assert counts["started"] == counts["ended"] == len(memory.spans) == 1
    assert attributes(only(memory))["tracehooks.complete"] is False or recorded(only(memory), "input")
