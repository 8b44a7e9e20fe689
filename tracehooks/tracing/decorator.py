"""``@traced``: every call of a function becomes a span."""

import functools
import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, get_args, overload

from tracehooks.errors import ConfigurationError
from tracehooks.tracing import semconv
from tracehooks.tracing.parameters import Parameters
from tracehooks.tracing.spec import Spec
from tracehooks.tracing.wrappers import wrap

F = TypeVar("F")
KINDS: tuple[semconv.Kind, ...] = get_args(semconv.Kind)
_OFF = frozenset({"", "0", "false", "no", "off"})


@dataclass(frozen=True, slots=True)
class Tracing:
    """What ``@traced`` was told, kept on the wrapper as ``__tracehooks__``."""

    name: str
    kind: semconv.Kind
    hooks: tuple[Any, ...]
    version: str | None


@overload
def traced(function: F, /) -> F: ...


@overload
def traced(
    *,
    name: str | None = None,
    kind: semconv.Kind = "agent",
    hooks: Sequence[Any] = (),
    capture_input: bool = True,
    capture_output: bool = True,
    reduce: Callable[[list[Any]], Any] | None = None,
    control_flow: type[BaseException] | tuple[type[BaseException], ...] = (),
    version: str | None = None,
) -> Callable[[F], F]: ...


def traced(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    kind: semconv.Kind = "agent",
    hooks: Sequence[Any] = (),
    capture_input: bool = True,
    capture_output: bool = True,
    reduce: Callable[[list[Any]], Any] | None = None,
    control_flow: type[BaseException] | tuple[type[BaseException], ...] = (),
    version: str | None = None,
) -> Any:
    """Record every call of a function as a span: arguments by name, result, exception, duration.

    Takes functions, async functions, generators and async generators, functions that return an iterator,
    methods, classmethods and staticmethods (from below or above), partials and callable objects; with or
    without parentheses. The function behaves as before in everything::

        @traced
        def answer(question: str) -> str: ...

        @traced(name="support-bot", control_flow=(Interrupt,))
        async def chat(messages: list[dict]) -> AsyncIterator[str]: ...

    ``name`` is the agent's or tool's name, by default the function's. ``kind`` is agent, tool, chain,
    retriever or generation. ``hooks`` score finished calls. ``capture_input`` and ``capture_output`` say
    whether arguments and results are recorded. ``reduce`` makes one value of a stream's chunks; by default
    texts and OpenAI deltas are joined and anything else is a list. An exception of a ``control_flow`` class
    is a signal, not an error. ``version`` is the agent's.

    With the environment variable ``TRACEHOOKS_DISABLED`` set when the function is decorated, the function
    itself is returned. Raises ConfigurationError for an unknown kind, and for what is no function.
    """
    _check(kind, control_flow, reduce, hooks)
    signals = control_flow if isinstance(control_flow, tuple) else (control_flow,)

    def decorate(target: Any) -> Any:
        if is_disabled():
            return target
        if isinstance(target, classmethod | staticmethod):
            return type(target)(decorate(target.__func__))
        if isinstance(target, functools.partialmethod):
            return functools.partialmethod(decorate(target.func), *target.args, **target.keywords)
        if inspect.isclass(target) or not callable(target):
            raise ConfigurationError(
                f"@traced takes a function, not {target!r}. Decorate the methods of a class one by one."
            )
        spec = Spec(
            name or _name_of(target),
            kind,
            Parameters(target),
            capture_input=capture_input,
            capture_output=capture_output,
            control_flow=signals,
            hooks=tuple(hooks),
            reduce=reduce,
            version=version,
        )
        wrapper: Any = wrap(target, spec)
        wrapper.__tracehooks__ = Tracing(spec.name, kind, spec.hooks, version)
        return wrapper

    return decorate if function is None else decorate(function)


def is_disabled() -> bool:
    """Whether the environment says that nothing is to be traced."""
    return os.environ.get("TRACEHOOKS_DISABLED", "").strip().lower() not in _OFF


def _check(kind: str, control_flow: Any, reduce: Any, hooks: Any) -> None:
    if kind not in KINDS:
        raise ConfigurationError(f"@traced: kind must be one of {', '.join(KINDS)}; got {kind!r}")
    signals = control_flow if isinstance(control_flow, tuple) else (control_flow,)
    if not all(isinstance(signal, type) and issubclass(signal, BaseException) for signal in signals):
        raise ConfigurationError(f"@traced: control_flow takes exception classes, got {control_flow!r}")
    if not isinstance(hooks, Sequence) or not all(hasattr(hook, "scorer") for hook in hooks):
        raise ConfigurationError(f"@traced: hooks takes a list of ScoringHook, got {hooks!r}")
    if reduce is not None and not callable(reduce):
        raise ConfigurationError(f"@traced: reduce must be a function of the list of chunks, got {reduce!r}")


def _name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__name__", None) or type(function).__name__
