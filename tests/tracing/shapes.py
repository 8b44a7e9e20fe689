"""A function of every shape, and the ways to decorate one, for tests of them all."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from tracehooks import traced

DECORATORS: dict[str, Callable[[Any], Any]] = {
    "bare": traced,
    "called": traced(),
    "named": traced(name="x"),
}


def sync(question: str, *, tone: str = "kind") -> str:
    """Answer."""
    return f"{question}!"


async def coroutine(question: str, *, tone: str = "kind") -> str:
    """Answer."""
    await asyncio.sleep(0)
    return f"{question}!"


def generator(question: str, *, tone: str = "kind") -> Iterator[str]:
    """Answer."""
    yield question
    yield "!"


async def async_generator(question: str, *, tone: str = "kind") -> AsyncIterator[str]:
    """Answer."""
    yield question
    await asyncio.sleep(0)
    yield "!"


def get(result: Any) -> Any:
    """What a call comes to, whatever its shape."""
    if inspect.iscoroutine(result):
        return asyncio.run(result)
    if inspect.isasyncgen(result):

        async def collect() -> str:
            return "".join([str(chunk) async for chunk in result])

        return asyncio.run(collect())
    return "".join(map(str, result)) if inspect.isgenerator(result) else result


SHAPES: list[Any] = [sync, coroutine, generator, async_generator]
PREDICATES: list[Callable[[Any], bool]] = [
    inspect.isfunction,
    inspect.isroutine,
    inspect.isgeneratorfunction,
    inspect.isasyncgenfunction,
    inspect.iscoroutinefunction,
    asyncio.iscoroutinefunction if not hasattr(inspect, "markcoroutinefunction") else callable,
]


def same_to_inspect(wrapped: Any, function: Any) -> None:
    for predicate in PREDICATES:
        assert predicate(wrapped) == predicate(function), predicate
    assert inspect.signature(wrapped) == inspect.signature(function)
