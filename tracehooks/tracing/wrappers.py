"""The wrapper of each function shape: as thin as can be, and the same to ``inspect`` as what it wraps."""

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from tracehooks.tracing.call import Call, begin
from tracehooks.tracing.context import current_context, enter, leave, restore
from tracehooks.tracing.planted import plantable
from tracehooks.tracing.provider import door
from tracehooks.tracing.results import PLAIN, driver_named, hand_on
from tracehooks.tracing.spec import Spec
from tracehooks.tracing.stream_call import StreamCall
from tracehooks.tracing.streams import drive, drive_async

Function = Callable[..., Any]


def wrap(function: Function, spec: Spec) -> Function:
    """A function that does what ``function`` does, and records it."""
    shape = _shape(function)
    body = plantable(function, spec.kind, spec.name, shape)
    if shape == inspect.CO_COROUTINE:
        wrapper = _coroutine(body, spec)
        if not inspect.iscoroutinefunction(function):  # an object whose __call__ is one
            wrapper = _plain_call_of(wrapper)
    elif shape:
        wrapper = _generator(body, spec, drive if shape == inspect.CO_GENERATOR else drive_async)
        if _is_shaped(function, shape):
            wrapper = _flagged(wrapper, shape)
    else:
        wrapper = _plain(body, spec)
    functools.update_wrapper(wrapper, function)
    for name in ("__name__", "__qualname__"):
        if not hasattr(function, name):
            setattr(wrapper, name, spec.name)
    return wrapper


def _flagged(function: Any, flag: int) -> Any:
    """``function`` with a flag on its code that says what calling it gives.

    Since Python 3.11 an opcode makes the generator, and the flag only tells. An interpreter that goes by the
    flag gets the function as it is.
    """
    if not _FLAGS_ONLY_TELL:
        return function
    return _with_flag(function, flag)


def _with_flag(function: Any, flag: int) -> Any:
    code = function.__code__.replace(co_flags=function.__code__.co_flags | flag)
    return FunctionType(code, function.__globals__, function.__name__, None, function.__closure__)


_FLAGS_ONLY_TELL = _with_flag(lambda: None, inspect.CO_GENERATOR)() is None

_PREDICATES: dict[int, Callable[[Any], bool]] = {
    inspect.CO_COROUTINE: inspect.iscoroutinefunction,
    inspect.CO_GENERATOR: inspect.isgeneratorfunction,
    inspect.CO_ASYNC_GENERATOR: inspect.isasyncgenfunction,
}


def _is_shaped(function: Function, shape: int) -> bool:
    return _PREDICATES[shape](function)


def _shape(function: Function) -> int:
    """The code flag of what calling ``function`` gives: a coroutine, a generator, or 0 for anything else."""
    called = getattr(type(function), "__call__", None)  # noqa: B004 - of the class, as Python calls it
    for shape in _PREDICATES:
        if _is_shaped(function, shape) or (called is not None and _is_shaped(called, shape)):
            return shape
    return 0


def _plain(function: Function, spec: Spec) -> Function:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        recording = door.recording or door.find()
        if recording is None:
            return function(*args, **kwargs)
        call, context = begin(Call, spec, recording, current_context(), args, kwargs)
        token = enter(context)
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            leave(token)
            call.fail(error)
            raise
        try:  # noqa: SIM105 - written out because suppress() would cost more than all of this
            restore(token)
        except ValueError:  # another context is running by now
            pass
        if type(result) in PLAIN:
            call.succeed(result)
            return result
        return hand_on(call, context, result)

    return wrapper


def _coroutine(function: Function, spec: Spec) -> Function:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        recording = door.recording or door.find()
        if recording is None:
            return await function(*args, **kwargs)
        call, context = begin(Call, spec, recording, current_context(), args, kwargs)
        token = enter(context)
        try:
            result = await function(*args, **kwargs)
        except BaseException as error:
            leave(token)
            call.fail(error)
            raise
        try:  # noqa: SIM105 - written out because suppress() would cost more than all of this
            restore(token)
        except ValueError:  # another context is running by now
            pass
        if type(result) in PLAIN:
            call.succeed(result)
            return result
        return hand_on(call, context, result)

    return wrapper


def _plain_call_of(coroutine_function: Function) -> Function:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return coroutine_function(*args, **kwargs)

    return wrapper


def _generator(function: Function, spec: Spec, driver: Callable[..., Any]) -> Function:
    """For generator functions. The span starts with the first step, under the context of the call.

    The wrapper itself is an ordinary function, because that context has to be kept when it is called, while a
    generator function's body runs only when it is stepped. Its code is flagged as what it stands for, which
    is what ``inspect`` looks at.
    """

    drive_this = driver_named(driver, _body_of(function))

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        inner = function(*args, **kwargs)
        recording = door.recording or door.find()
        if recording is None:
            return inner
        return drive_this((StreamCall, spec, recording, current_context(), args, kwargs), inner)

    return wrapper


def _body_of(function: Any) -> Any:
    """The generator function that runs in the end: behind partials, or the ``__call__`` of an object."""
    while isinstance(function, functools.partial):
        function = function.func
    return function if hasattr(function, "__qualname__") else type(function).__call__
