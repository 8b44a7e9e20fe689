"""Streams that a function returns and that are no generators, such as OpenAI's ``Stream``.

The caller gets a stand-in that passes each chunk on, records it, and is the stream in everything else:
attributes, ``close()``, ``with``, ``isinstance``. It has just those special methods that the stream has.
"""

import copy
import inspect
import weakref
from collections.abc import Callable
from typing import Any

from tracehooks.tracing.home import Home
from tracehooks.tracing.stream_call import Guard
from tracehooks.tracing.streams import relay_all

_FORWARDED = (
    *(
        "__bool__",
        "__call__",
        "__contains__",
        "__delitem__",
        "__eq__",
        "__format__",
        "__getitem__",
        "__hash__",
    ),
    *("__len__", "__length_hint__", "__lt__", "__repr__", "__reversed__", "__setitem__", "__str__"),
)
_ALWAYS = frozenset({"__repr__", "__str__"})
_OWN = frozenset({"_tracehooks_stream", "_tracehooks_guard", "_tracehooks_home"})


class _StandIn:
    """What both kinds of stand-in share."""

    _tracehooks_stream: Any
    _tracehooks_guard: Guard
    _tracehooks_home: Home

    def __init__(self, stream: Any, guard: Guard) -> None:
        self._tracehooks_stream = stream
        self._tracehooks_guard = guard
        self._tracehooks_home = Home(guard.context)

    def __getattr__(self, name: str) -> Any:
        if name in _OWN:  # not made yet
            raise AttributeError(name)
        return getattr(self._tracehooks_stream, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OWN:
            object.__setattr__(self, name, value)
        else:
            setattr(self._tracehooks_stream, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._tracehooks_stream, name)

    def __copy__(self) -> Any:
        return copy.copy(self._tracehooks_stream)

    def __deepcopy__(self, known: dict[int, Any]) -> Any:
        return copy.deepcopy(self._tracehooks_stream, known)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """A copy, by pickle or otherwise, is one of the stream, and no part of the call."""
        return self._tracehooks_stream.__reduce_ex__(protocol)

    def __dir__(self) -> list[str]:
        return dir(self._tracehooks_stream)

    def _itself(self, result: Any) -> Any:
        return self if result is self._tracehooks_stream else result

    def _run(self, function: Callable[..., Any], *args: Any) -> Any:
        """One step in the stream's home."""
        return self._tracehooks_home.step(function, *args)

    def _passed(self, chunk: Any) -> None:
        if self._tracehooks_guard.call.is_open:
            self._tracehooks_guard.call.chunks.take(chunk)

    def _ended(self, error: BaseException) -> None:
        if isinstance(error, StopIteration | StopAsyncIteration):
            self._tracehooks_guard.call.finish(complete=True)
        else:
            self._tracehooks_guard.call.fail(error)


def _next(self: Any) -> Any:
    try:
        chunk = self._run(next, self._tracehooks_stream)
    except BaseException as error:
        self._ended(error)
        raise
    self._passed(chunk)
    return chunk


async def _anext(self: Any) -> Any:
    try:
        step = self._run(self._tracehooks_stream.__anext__)
        chunk = await relay_all(self._run, step)
    except BaseException as error:
        self._ended(error)
        raise
    self._passed(chunk)
    return chunk


def _closing(name: str) -> Callable[..., Any]:
    def close(self: Any, *args: Any) -> Any:
        result = self._run(getattr(self._tracehooks_stream, name), *args)
        if inspect.isawaitable(result):
            return _closed_later(self, result)
        self._tracehooks_guard.call.finish(complete=False)
        return result

    return close


async def _closed_later(self: Any, closing: Any) -> Any:
    try:
        return await relay_all(self._run, closing)
    finally:
        self._tracehooks_guard.call.finish(complete=False)


def _enter(self: Any) -> Any:
    return self._itself(self._run(self._tracehooks_stream.__enter__))


async def _aenter(self: Any) -> Any:
    return self._itself(await relay_all(self._run, self._tracehooks_stream.__aenter__()))


def _iterate(self: Any) -> Any:
    return self


_METHODS: dict[str, Callable[..., Any]] = {
    "__iter__": _iterate,
    "__next__": _next,
    "__aiter__": _iterate,
    "__anext__": _anext,
    "__enter__": _enter,
    "__exit__": _closing("__exit__"),
    "__aenter__": _aenter,
    "__aexit__": _closing("__aexit__"),
    "close": _closing("close"),
    "aclose": _closing("aclose"),
}


def _forward(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any) -> Any:
        return getattr(self._tracehooks_stream, name)(*args)

    return method


def stand_in(stream: Any, guard: Guard) -> Any:
    """A stand-in for ``stream``, whose chunks and end belong to the guarded call."""
    kind = type(stream)
    form = _forms.get(kind)
    if form is None:
        form = _forms[kind] = type(kind.__name__, (_StandIn,), _methods_of(kind))
    return form(stream, guard)


_forms: "weakref.WeakKeyDictionary[type, type]" = weakref.WeakKeyDictionary()


def _methods_of(kind: type) -> dict[str, Any]:
    methods: dict[str, Any] = {name: method for name, method in _METHODS.items() if hasattr(kind, name)}
    for name in _FORWARDED:
        if name in _ALWAYS or getattr(kind, name, None) is not getattr(object, name, None):
            methods[name] = _forward(name)
    methods["__class__"] = property(lambda self: type(self._tracehooks_stream))
    return methods
