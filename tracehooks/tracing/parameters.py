"""Which parameter each argument of a call belongs to, worked out once when a function is decorated."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

_OWNERS = frozenset({"self", "cls", "mcs", "mcls", "metacls"})
_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Parameters:
    """The parameters of a function, ready to name the arguments of its calls.

    What is named are the arguments that the caller gives: no defaults, nothing preset by a partial, and
    never the instance or class that a method belongs to.

    A call with ``count`` positional arguments and no others gives ``last`` alone.
    """

    __slots__ = ("_extra", "_method_of", "_named", "_positional", "_rest", "_skip", "count", "last", "lead")

    def __init__(self, function: Callable[..., Any]) -> None:
        parameters = _parameters(function)
        self._positional = tuple(p.name for p in parameters if p.kind in _BY_POSITION)
        self._named = frozenset(p.name for p in parameters if p.kind in _BY_NAME)
        self._extra = _name_of(parameters, inspect.Parameter.VAR_POSITIONAL) or "args"
        self._rest = _name_of(parameters, inspect.Parameter.VAR_KEYWORD)
        self._skip = int(bool(self._positional) and self._positional[0] in _OWNERS)
        self._method_of = None if self._skip else _class_around(function)
        # The usual case has a short way: one argument is given, named last, and it is the count-th of args.
        self.count = 1 + self._skip if len(self._positional) > self._skip and not self._method_of else -1
        self.last = self._positional[self._skip] if self.count > 0 else ""
        self.lead = '{"' + self.last + '":'

    def arguments(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """Names and values of a call's arguments, surplus ones under the name of ``*args`` or ``**kwargs``.

        Arguments that do not fit are named as well as can be: the call itself will say what is wrong.
        """
        found = list(zip(self._positional, args, strict=False))
        if found and (self._skip or (self._method_of and _is_owner(args[0], self._method_of))):
            del found[0]
        if len(args) > len(self._positional):
            found.append((self._extra, list(args[len(self._positional) :])))
        if kwargs:
            found.extend(self._keywords(kwargs))
        return found

    def _keywords(self, kwargs: Mapping[str, Any]) -> list[tuple[str, Any]]:
        if self._rest is None:
            return list(kwargs.items())
        found = [(name, value) for name, value in kwargs.items() if name in self._named]
        surplus = {name: value for name, value in kwargs.items() if name not in self._named}
        return [*found, (self._rest, surplus)] if surplus else found


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a builtin that does not tell
        return []


def _name_of(parameters: list[inspect.Parameter], kind: Any) -> str | None:
    return next((p.name for p in parameters if p.kind == kind), None)


def _class_around(function: Callable[..., Any]) -> str | None:
    """The name of the class whose body defines ``function``, if one does and the function is not bound."""
    if isinstance(function, functools.partial) or inspect.ismethod(function):
        return None
    around = getattr(function, "__qualname__", "").rpartition(".")[0].rpartition(".")[2]
    return around if around and around != "<locals>" else None


def _is_owner(value: Any, name: str) -> bool:
    """Whether ``value`` is an instance of a class of that name, or such a class itself."""
    kind = type(value)
    classes = value.__mro__ if issubclass(kind, type) else kind.__mro__
    return any(one.__name__ == name for one in classes)
