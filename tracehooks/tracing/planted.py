"""Planted results: in a replay a tool gives what the noise says, and a retriever finds one more document.

Only functions decorated as ``tool`` or ``retriever`` look for a plant, each time they are called; what an
agent starts in threads of its own sees it when the context is carried there (``carry_context``).
"""

import copy
import functools
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import ContextVar
from typing import Any

Function = Callable[..., Any]


class Plant:
    """What one replay plants: the output of the tool ``name``, or one more document for every retriever.

    ``reached`` counts the calls that got it. ``refused`` says why a retriever could not be given it.
    """

    __slots__ = ("kind", "name", "output", "reached", "refused")

    def __init__(self, kind: str, name: str | None, output: Any) -> None:
        self.kind = kind
        self.name = name
        self.output = output
        self.reached = 0
        self.refused = ""

    def is_for(self, kind: str, name: str) -> bool:
        """Whether the function of this kind and name is the one."""
        return self.kind == kind and self.name in (None, name)

    def give(self) -> Any:
        """The output, a copy of its own for each call: an agent may change what it is given."""
        self.reached += 1
        return copy.deepcopy(self.output)

    def added_to(self, found: Any, name: str) -> Any:
        """What a retriever ``found``, with the document at its end; anything but a list as it is."""
        if type(found) not in (list, tuple):
            kind = type(found).__name__
            self.refused = f"the retriever {name} gives {kind}, and a document can be added to a list only"
            return found
        return [*found, self.give()] if type(found) is list else (*found, self.give())


PLANT: ContextVar[Plant | None] = ContextVar("tracehooks-plant", default=None)
REPLAYING: ContextVar[bool] = ContextVar("tracehooks-replaying", default=False)
"""True within a call that a replay made: the replay has it scored, and no hook does."""


def plantable(function: Function, kind: str, name: str, shape: int) -> Function:
    """``function`` itself, or for a tool or a retriever one of the same shape that heeds the plant.

    ``shape`` is the code flag of what calling it gives: a coroutine, a generator, or 0 for anything else.
    """
    make = _MAKERS.get((kind, shape))
    return function if make is None else functools.wraps(function, updated=())(make(function, name))


def _tool(function: Function, name: str) -> Function:
    def tool(*args: Any, **kwargs: Any) -> Any:
        plant = PLANT.get()
        if plant is None or not plant.is_for("tool", name):
            return function(*args, **kwargs)
        return plant.give()

    return tool


def _async_tool(function: Function, name: str) -> Function:
    async def tool(*args: Any, **kwargs: Any) -> Any:
        plant = PLANT.get()
        if plant is None or not plant.is_for("tool", name):
            return await function(*args, **kwargs)
        return plant.give()

    return tool


def _streaming_tool(function: Function, name: str) -> Function:
    def tool(*args: Any, **kwargs: Any) -> Any:
        plant = PLANT.get()
        if plant is None or not plant.is_for("tool", name):
            return function(*args, **kwargs)
        return _pieces(plant)

    return tool


def _async_streaming_tool(function: Function, name: str) -> Function:
    def tool(*args: Any, **kwargs: Any) -> Any:
        plant = PLANT.get()
        if plant is None or not plant.is_for("tool", name):
            return function(*args, **kwargs)
        return _async_pieces(plant)

    return tool


def _retriever(function: Function, name: str) -> Function:
    def retriever(*args: Any, **kwargs: Any) -> Any:
        found = function(*args, **kwargs)
        plant = PLANT.get()
        if plant is None or not plant.is_for("retriever", name):
            return found
        return _awaited(found, plant, name) if inspect.isawaitable(found) else plant.added_to(found, name)

    return retriever


def _async_retriever(function: Function, name: str) -> Function:
    async def retriever(*args: Any, **kwargs: Any) -> Any:
        found = await function(*args, **kwargs)
        plant = PLANT.get()
        if plant is None or not plant.is_for("retriever", name):
            return found
        return plant.added_to(found, name)

    return retriever


def _streaming_retriever(function: Function, name: str) -> Function:
    def retriever(*args: Any, **kwargs: Any) -> Any:
        plant = PLANT.get()
        found = function(*args, **kwargs)
        if plant is None or not plant.is_for("retriever", name):
            return found
        return _with_one_more(found, plant)

    return retriever


def _async_streaming_retriever(function: Function, name: str) -> Function:
    def retriever(*args: Any, **kwargs: Any) -> Any:
        plant = PLANT.get()
        found = function(*args, **kwargs)
        if plant is None or not plant.is_for("retriever", name):
            return found
        return _async_with_one_more(found, plant)

    return retriever


def _pieces(plant: Plant) -> Iterator[Any]:
    """A planted stream: each entry of a list, anything else as its one piece."""
    output = plant.give()
    yield from output if isinstance(output, list) else [output]


async def _async_pieces(plant: Plant) -> AsyncIterator[Any]:
    for piece in _pieces(plant):
        yield piece


def _with_one_more(found: Iterator[Any], plant: Plant) -> Iterator[Any]:
    yield from found
    yield plant.give()


async def _async_with_one_more(found: AsyncIterator[Any], plant: Plant) -> AsyncIterator[Any]:
    async for document in found:
        yield document
    yield plant.give()


async def _awaited(found: Any, plant: Plant, name: str) -> Any:
    return plant.added_to(await found, name)


_MAKERS: dict[tuple[str, int], Callable[[Function, str], Function]] = {
    ("tool", 0): _tool,
    ("tool", inspect.CO_COROUTINE): _async_tool,
    ("tool", inspect.CO_GENERATOR): _streaming_tool,
    ("tool", inspect.CO_ASYNC_GENERATOR): _async_streaming_tool,
    ("retriever", 0): _retriever,
    ("retriever", inspect.CO_COROUTINE): _async_retriever,
    ("retriever", inspect.CO_GENERATOR): _streaming_retriever,
    ("retriever", inspect.CO_ASYNC_GENERATOR): _async_streaming_retriever,
}
