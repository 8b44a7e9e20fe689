"""Blocking functions in daemon threads: for code of others that may never return."""

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from typing import Any, TypeVar

R = TypeVar("R")

MOST_AT_ONCE = 32


class Stuck(RuntimeError):  # noqa: N818 - it says what they are
    """So many earlier calls still run that no more are begun."""


class DaemonThreads:
    """Runs blocking functions, each in a daemon thread of its own, at most ``limit`` at a time.

    ``asyncio.to_thread`` would let a function that hangs keep the interpreter from ending, and its pool
    would be used up by such functions. Picklable: a copy begins anew.
    """

    def __init__(self, limit: int = MOST_AT_ONCE) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._running = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return DaemonThreads, (self._limit,)

    async def run(self, function: Callable[..., R], *args: Any) -> R:
        """What ``function(*args)`` returns or raises. Raises Stuck when ``limit`` calls are still running.

        When the caller is cancelled the thread goes on, and its result is thrown away.
        """
        with self._lock:
            if self._running >= self._limit:
                raise Stuck(f"{self._running} earlier calls have not returned")
            self._running += 1
        loop = asyncio.get_running_loop()
        future: asyncio.Future[R] = loop.create_future()
        context = contextvars.copy_context()

        def work() -> None:
            try:
                result = context.run(function, *args)
            except BaseException as error:
                self._settle(loop, future, error=error)
            else:
                self._settle(loop, future, result=result)

        threading.Thread(target=work, name="tracehooks-blocking", daemon=True).start()
        return await future

    def _settle(
        self,
        loop: asyncio.AbstractEventLoop,
        future: "asyncio.Future[R]",
        *,
        result: Any = None,
        error: BaseException | None = None,
    ) -> None:
        with self._lock:
            self._running -= 1

        def settle() -> None:
            if future.done():
                return
            if error is None:
                future.set_result(result)
            elif isinstance(error, StopIteration):
                future.set_exception(RuntimeError("the function raised StopIteration"))
            else:
                future.set_exception(error)

        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle)
