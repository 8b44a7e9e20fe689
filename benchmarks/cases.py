"""What is measured: each case is a function, what it is given, and how it is called so many times."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from opentelemetry.trace import Tracer

from benchmarks import bare, workloads
from benchmarks.timing import Run

Function = Callable[..., Any]


def sync_calls(function: Function, value: Any) -> Run:
    def run(calls: int) -> None:
        for _ in range(calls):
            function(value)

    return run


def async_calls(function: Function, value: Any) -> Run:
    async def all_of(calls: int) -> None:
        for _ in range(calls):
            await function(value)

    return lambda calls: _loop().run_until_complete(all_of(calls))


def drained(function: Function, value: Any) -> Run:
    def run(calls: int) -> None:
        for _ in range(calls):
            for _chunk in function(value):
                pass

    return run


def drained_async(function: Function, value: Any) -> Run:
    async def all_of(calls: int) -> None:
        for _ in range(calls):
            async for _chunk in function(value):
                pass

    return lambda calls: _loop().run_until_complete(all_of(calls))


def threaded_calls(function: Function, value: Any) -> Run:
    """The calls shared out among eight threads at once."""
    one = sync_calls(function, value)

    def run(calls: int) -> None:
        share = -(-calls // workloads.THREADS)
        threads = [threading.Thread(target=one, args=(share,)) for _ in range(workloads.THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return run


@dataclass(frozen=True, slots=True)
class Case:
    """One thing to measure; ``parameter`` is the name under which the bare span records ``value``."""

    name: str
    title: str
    function: Function
    parameter: str
    value: Any
    bare: Callable[[Tracer, Function, str], Function]
    calls: Callable[[Function, Any], Run]

    def plain_run(self) -> Run:
        return self.calls(self.function, self.value)

    def bare_run(self, tracer: Tracer) -> Run:
        return self.calls(self.bare(tracer, self.function, self.parameter), self.value)

    def traced_run(self, decorate: Callable[[Function], Function]) -> Run:
        return self.calls(decorate(self.function), self.value)


_text, _documents = workloads.TEXT, workloads.DOCUMENTS
CASES = {
    case.name: case
    for case in (
        Case("sync", "1 KB in and out", workloads.answer, "question", _text, bare.sync_span, sync_calls),
        Case(
            *("async", "1 KB in and out, async", workloads.answer_async, "question", _text),
            *(bare.async_span, async_calls),
        ),
        Case(
            "nested",
            "50 KB nested input",
            workloads.rank,
            "documents",
            _documents,
            bare.sync_span,
            sync_calls,
        ),
        Case(
            *("generator", "generator of 100", workloads.stream, "question", _text),
            *(bare.generator_span, drained),
        ),
        Case(
            *("async_generator", "async generator of 100", workloads.stream_async, "question", _text),
            *(bare.async_generator_span, drained_async),
        ),
        Case(
            *("threads", "1 KB, eight threads", workloads.answer, "question", _text),
            *(bare.sync_span, threaded_calls),
        ),
    )
}

_loops: list[asyncio.AbstractEventLoop] = []


def _loop() -> asyncio.AbstractEventLoop:
    """One event loop for all turns: making one is no part of a call."""
    if not _loops:
        _loops.append(asyncio.new_event_loop())
    return _loops[0]
