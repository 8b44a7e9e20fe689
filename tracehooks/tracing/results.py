"""What becomes of a call when its function returns: most results end it, streams and awaitables go on."""

import io
from types import AsyncGeneratorType, CoroutineType, FunctionType, GeneratorType
from typing import Any

from opentelemetry.context import Context

from tracehooks.tracing.call import Call
from tracehooks.tracing.context import enter, leave
from tracehooks.tracing.proxies import stand_in
from tracehooks.tracing.stream_call import Guard, StreamCall, as_stream
from tracehooks.tracing.streams import drive, drive_async
from tracehooks.tracing.trouble import trouble

PLAIN = frozenset({str, dict, list, tuple, int, float, bool, type(None), bytes, set})


def hand_on(call: Call, context: Context, result: Any) -> Any:
    """What the caller gets: ``result`` itself, or, where it is still to come, a stream that ends the call.

    Iterators are streams; files are not, nor is anything that merely can be iterated.
    """
    try:
        return _hand_on(call, context, result, type(result))
    except BaseException as error:
        trouble("following a result", error)
        call.succeed(result)
        return result


def _hand_on(call: Call, context: Context, result: Any, kind: type) -> Any:
    if kind is GeneratorType:
        return driver_named(drive, result)(Guard(as_stream(call), context), result)
    if kind is AsyncGeneratorType:
        return driver_named(drive_async, result)(Guard(as_stream(call), context), result)
    if kind is CoroutineType:
        return driver_named(_await, result)(Guard(as_stream(call), context, source=result))
    if _is_future(kind):
        stream = as_stream(call)
        result.add_done_callback(lambda future: _settle(stream, future))
    elif _is_stream(kind):
        return stand_in(result, Guard(as_stream(call), context))
    else:
        call.succeed(result)
    return result


def driver_named(driver: Any, like: Any) -> Any:
    """``driver``, whose generators bear the name that warnings and tracebacks know."""
    own = FunctionType(driver.__code__, driver.__globals__, like.__name__)
    own.__qualname__ = like.__qualname__
    return own


def _is_future(kind: type) -> bool:
    return hasattr(kind, "_asyncio_future_blocking") and hasattr(kind, "add_done_callback")


def _is_stream(kind: type) -> bool:
    if not (hasattr(kind, "__next__") or hasattr(kind, "__anext__")):
        return False
    # a mock has every method, and an application's tests want back the very mock they gave
    return not issubclass(kind, io.IOBase) and kind.__module__ != "unittest.mock"


async def _await(guard: Guard) -> Any:
    call, coroutine, guard.source = guard.call, guard.source, None
    token = enter(guard.context)
    try:
        result = await coroutine
    except BaseException as error:
        leave(token)
        call.fail(error)
        raise
    leave(token)
    if type(result) in PLAIN:
        call.succeed(result)
        return result
    return hand_on(call, guard.context, result)


def _settle(call: StreamCall, future: Any) -> None:
    if future.cancelled():
        call.finish(complete=False)
    elif (error := future.exception()) is not None:
        call.fail(error)
    else:
        call.succeed(future.result())
