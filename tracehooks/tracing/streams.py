"""Driving a generator in its home context, chunk by chunk, with its whole protocol intact.

Both drivers are real generators, so that everything Python knows of a generator holds for them. Their loops
are written out flat: each chunk passes here, and this is what tracing costs a stream.
"""

import sys
import types
from collections.abc import AsyncGenerator, Generator, Iterable
from contextvars import copy_context
from itertools import chain, repeat
from typing import Any

from tracehooks.tracing.call import begin
from tracehooks.tracing.chunks import BLOCK
from tracehooks.tracing.home import Home
from tracehooks.tracing.interrupts import let_through
from tracehooks.tracing.stream_call import Guard

# A call that has begun, or how to begin it.
Begun = Guard | tuple[Any, ...]
_BLOCK = range(BLOCK)
_CHUNK = object()  # what the pump yields when it has a chunk; anything else is the event loop's
_THROWN = object()  # what the pump is sent when the caller throws


def drive(begun: Begun, inner: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Yield what ``inner`` yields. A call that has not begun begins with the first step."""
    call, context = begin(*begun) if isinstance(begun, tuple) else (begun.call, begun.context)
    home, chunks, recorded = Home(context), call.chunks, call.is_open
    run, inside, seen, kept = home.run, home.context, home.seen, home.kept
    append, limit = chunks.items.append, chunks.limit if recorded else 0
    send, argument = inner.send, None
    steps: Iterable[Any] = repeat(send, BLOCK)
    try:
        while True:
            for step in steps:
                try:
                    if copy_context() != seen:
                        seen, kept = home.bring_in()
                except BaseException as error:  # some variable's value cannot be compared
                    let_through(error)
                    seen, kept = home.bring_in()
                chunk = run(step, argument)
                try:
                    if inside != kept:
                        seen, kept = home.bring_out()
                except BaseException as error:
                    let_through(error)
                    seen, kept = home.bring_out()
                if type(chunk) is str and len(chunk) < limit:
                    append(chunk)
                elif recorded:
                    limit = chunks.take(chunk)
                try:
                    argument = yield chunk
                except BaseException as error:
                    argument, steps = error, chain((inner.throw,), repeat(send, BLOCK))
                    break
            else:
                steps = repeat(send, BLOCK)
                limit = chunks.review() if recorded else 0
    except StopIteration as stop:
        home.settle()
        call.finish(complete=step is send or not isinstance(argument, GeneratorExit))
        return stop.value
    except BaseException as error:
        argument = None  # or the error, its traceback and this frame would keep each other alive
        home.settle()
        call.fail(error)
        raise


async def drive_async(begun: Begun, inner: AsyncGenerator[Any, Any]) -> AsyncGenerator[Any, Any]:
    """The same for an async generator. Its steps run in the task of whoever asks for the next chunk."""
    guard = Guard(*begin(*begun)) if isinstance(begun, tuple) else begun
    call = guard.call
    home, chunks, recorded = Home(guard.context), call.chunks, call.is_open
    run, inside, seen, kept = home.run, home.context, home.seen, home.kept
    append, limit = chunks.items.append, chunks.limit if recorded else 0
    cell: list[Any] = [None]
    pump = _pump(first_step(inner), inner, cell)
    step = pump.send
    argument: Any = None
    try:
        while True:
            for _ in _BLOCK:
                try:
                    if copy_context() != seen:
                        seen, kept = home.bring_in()
                except BaseException as error:
                    let_through(error)
                    seen, kept = home.bring_in()
                signal = run(step, argument)
                if signal is not _CHUNK:
                    await _relay(run, pump, signal)
                try:
                    if inside != kept:
                        seen, kept = home.bring_out()
                except BaseException as error:
                    let_through(error)
                    seen, kept = home.bring_out()
                chunk = cell[0]
                if type(chunk) is str and len(chunk) < limit:
                    append(chunk)
                elif recorded:
                    limit = chunks.take(chunk)
                try:
                    argument = yield chunk
                except BaseException as error:
                    cell[0], argument = error, _THROWN
            limit = chunks.review() if recorded else 0
    except StopAsyncIteration:
        home.settle()
        call.finish(complete=argument is not _THROWN or not isinstance(cell[0], GeneratorExit))
    except BaseException as error:
        cell[0] = None
        home.settle()
        call.fail(error)
        raise


@types.coroutine
def _pump(first: Any, inner: AsyncGenerator[Any, Any], cell: list[Any]) -> Generator[Any, Any, None]:
    """Await one step of ``inner`` after the other; put each chunk into the cell and say so.

    This runs in the home context, and awaits there at the speed of C. What the caller throws comes in the
    cell too: an exception raised here at the yield is the garbage collector's, and not for ``inner``.
    """
    cell[0] = yield from first
    while True:
        argument = yield _CHUNK
        if argument is _THROWN:
            cell[0] = yield from inner.athrow(cell[0])
        else:
            cell[0] = yield from inner.asend(argument)


@types.coroutine
def _relay(run: Any, pump: Any, signal: Any) -> Generator[Any, Any, None]:
    """Pass to and fro between the event loop and a step that waits, until there is a chunk."""
    while signal is not _CHUNK:
        try:
            argument = yield signal
        except BaseException as error:
            step, argument = pump.throw, error
        else:
            step = pump.send
        signal = run(step, argument)


@types.coroutine
def relay_all(run: Any, awaitable: Any) -> Generator[Any, Any, Any]:
    """Await something in the context of ``run``; gives its result."""
    steps = awaitable.__await__()
    send: Any = getattr(steps, "send", None) or (lambda _: next(steps))
    step, argument = send, None
    while True:
        try:
            signal = run(step, argument)
        except StopIteration as stop:
            return stop.value
        try:
            argument = yield signal
        except BaseException as error:
            step, argument = steps.throw, error
        else:
            step = send


def first_step(inner: AsyncGenerator[Any, Any]) -> Any:
    """The first step of ``inner``, begun without the event loop hearing of it.

    The loop closes every async generator it has heard of when it ends. It knows the one that drives; if it
    knew the inner one too it would close both at once, and fail.
    """
    firstiter, finalizer = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(firstiter=None, finalizer=finalizer and _leave_alone)
    try:
        return inner.asend(None)
    finally:
        sys.set_asyncgen_hooks(firstiter=firstiter, finalizer=finalizer)


def _leave_alone(generator: AsyncGenerator[Any, Any]) -> None:
    """Do what a closed event loop does with a generator that is collected: nothing."""
