"""Calling what is evaluated, whatever its shape."""

import inspect
from collections.abc import Callable
from typing import Any

from tracehooks.threads import DaemonThreads

Target = Callable[[Any], Any]


async def answer_of(target: Target, given: Any, threads: DaemonThreads) -> Any:
    """What ``target`` answers: awaited, or its stream put together."""
    if inspect.iscoroutinefunction(target) or inspect.isasyncgenfunction(target):
        answer = target(given)
    else:
        answer = await threads.run(_drained, target, given)
    if inspect.isawaitable(answer):
        answer = await answer
    if hasattr(answer, "__aiter__"):
        return _joined([piece async for piece in answer])
    return answer


def _drained(target: Target, given: Any) -> Any:
    answer = target(given)
    # a stream may be any iterator: tracing hands on one that stands in for it
    return _joined(list(answer)) if hasattr(answer, "__next__") else answer


def _joined(pieces: list[Any]) -> Any:
    return "".join(pieces) if all(isinstance(piece, str) for piece in pieces) else pieces
