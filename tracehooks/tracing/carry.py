"""``carry_context``: a function that runs, wherever it is called, in the context in which it was wrapped."""

import contextvars
import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any, ParamSpec, TypeVar, cast

from opentelemetry.context import Context, attach, get_current

from tracehooks.tracing.context import leave
from tracehooks.tracing.home import Home
from tracehooks.tracing.streams import first_step, relay_all

P = ParamSpec("P")
R = TypeVar("R")


def carry_context(function: Callable[P, R]) -> Callable[P, R]:
    """``function`` running in a copy of the present context, wherever and however often it is called.

    For threads and executors, which start with an empty context::

        pool.submit(tracehooks.carry_context(search), "shoes")

    Each call gets a copy of its own, so one wrapped function may run many times at once, and nothing stays
    behind in the thread. Coroutine, generator and async generator functions stay what they are; each step of
    their bodies sees the carried trace, session and user.
    """
    if inspect.iscoroutinefunction(function):
        return cast("Callable[P, R]", _coroutine(function, get_current()))
    if inspect.isgeneratorfunction(function):
        return cast("Callable[P, R]", _generator(function, contextvars.copy_context()))
    if inspect.isasyncgenfunction(function):
        return cast("Callable[P, R]", _async_generator(function, get_current()))
    carried = contextvars.copy_context()

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        return carried.copy().run(function, *args, **kwargs)

    return run


def _coroutine(function: Callable[..., Any], inside: Context) -> Callable[..., Any]:
    @functools.wraps(function)
    async def run(*args: Any, **kwargs: Any) -> Any:
        token = attach(inside)
        try:
            return await function(*args, **kwargs)
        finally:
            leave(token)

    return run


def _generator(function: Callable[..., Any], carried: contextvars.Context) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        inside = carried.copy().run
        inner = inside(function, *args, **kwargs)
        step, argument = inner.send, None
        while True:
            try:
                chunk = inside(step, argument)
            except StopIteration as stop:
                return stop.value
            try:
                argument = yield chunk
            except BaseException as error:
                step, argument = inner.throw, error
            else:
                step = inner.send

    return run


def _async_generator(function: Callable[..., Any], inside: Context) -> Callable[..., Any]:
    # The task's own context variables stay as they are, as in a coroutine: its libraries live by them.
    @functools.wraps(function)
    async def run(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        home, inner = Home(inside), function(*args, **kwargs)
        step = first_step(inner)
        while True:
            try:
                chunk = await relay_all(home.step, step)
            except StopAsyncIteration:
                return
            try:
                argument = yield chunk
            except BaseException as error:
                step = inner.athrow(error)
            else:
                step = inner.asend(argument)

    return run
