"""Blocking functions in daemon threads: for code of others that may never return."""

import asyncio
import contextlib
import contextvars
import os
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

R = TypeVar("R")

MOST_AT_ONCE = 32
IDLE_SECONDS = 10.0  # that a thread waits for its next function before it ends


class Stuck(RuntimeError):  # noqa: N818 - it says what they are
    """So many earlier calls still run that no more are begun."""


class DaemonThreads:
    """Runs blocking functions in daemon threads, at most ``limit`` at a time.

    ``asyncio.to_thread`` would let a function that hangs keep the interpreter from ending, and its pool
    would be used up by such functions. Threads are used again, and end when they have nothing to do.
    Picklable: a copy begins anew; so does a forked child.
    """

    def __init__(self, limit: int = MOST_AT_ONCE) -> None:
        self._limit = limit
        self._reset()
        _all.add(self)

    def _reset(self) -> None:
        # reentrant: the garbage collector may run anything while this thread holds it
        self._lock = threading.RLock()
        self._running = 0
        self._idle: list[_Thread] = []

    def __reduce__(self) -> tuple[Any, ...]:
        return DaemonThreads, (self._limit,)

    async def run(self, function: Callable[..., R], *args: Any) -> R:
        """What ``function(*args)`` returns or raises. Raises Stuck when ``limit`` calls are still running.

        When the caller is cancelled the thread goes on, and its result is thrown away.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[R] = loop.create_future()
        context = contextvars.copy_context()

        def work() -> None:
            try:
                result = context.run(function, *args)
            except BaseException as error:
                _settle(loop, future, error=error)
            else:
                _settle(loop, future, result=result)

        self.start(work)
        return await future

    def start(self, work: Callable[[], None]) -> None:
        """Have ``work``, which must not raise, done by a thread; on this one when there can be no more.

        Raises Stuck when ``limit`` are at work.
        """
        with self._lock:
            if self._running >= self._limit:
                raise Stuck(f"{self._running} earlier calls have not returned")
            self._running += 1
            thread = self._idle.pop() if self._idle else None
        try:
            (thread or _Thread(self)).take(work)
        except RuntimeError:
            # At its end the interpreter starts no threads any more, and this is the last moment to do it.
            work()
            self.done(None)

    def done(self, thread: "_Thread | None") -> None:
        """One is done; ``thread``, if any, is free again."""
        with self._lock:
            self._running = max(0, self._running - 1)  # a child of fork() begins at 0
            if thread is not None:
                self._idle.append(thread)

    def retire(self, thread: "_Thread") -> bool:
        """Whether ``thread`` may end: not when it was just chosen for something."""
        with self._lock:
            if thread not in self._idle:
                return False
            self._idle.remove(thread)
            return True


class _Thread:
    """A daemon thread that does one thing after the other."""

    def __init__(self, threads: DaemonThreads) -> None:
        self._threads = threads
        self._next: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._started = False

    def take(self, work: Callable[[], None]) -> None:
        if not self._started:
            threading.Thread(target=self._run, name="tracehooks-blocking", daemon=True).start()
            self._started = True
        self._next.put(work)

    def _run(self) -> None:
        while True:
            try:
                work = self._next.get(timeout=IDLE_SECONDS)
            except Empty:
                if self._threads.retire(self):
                    return
                continue
            try:
                work()
            finally:
                del work  # and with it whatever it holds
                self._threads.done(self)


class DaemonExecutor(ThreadPoolExecutor):
    """What an event loop of ours uses for its blocking calls, in place of the pool that exits wait for.

    The usual pool is joined when the interpreter ends, so that one hanging call holds the exit up; and from
    that moment on it refuses work, name lookups included.
    """

    def __init__(self, limit: int = MOST_AT_ONCE) -> None:
        super().__init__(max_workers=1)
        self._daemons = DaemonThreads(limit)

    def submit(self, fn: Callable[..., R], /, *args: Any, **kwargs: Any) -> "Future[R]":
        """Run ``fn(*args, **kwargs)`` in a daemon thread. Raises Stuck when too many are running."""
        future: Future[R] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        self._daemons.start(work)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Nothing: nobody waits for daemons."""


def _settle(
    loop: asyncio.AbstractEventLoop,
    future: "asyncio.Future[Any]",
    *,
    result: Any = None,
    error: BaseException | None = None,
) -> None:
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


_all: "weakref.WeakSet[DaemonThreads]" = weakref.WeakSet()


def _reset_in_child() -> None:
    for threads in list(_all):
        threads._reset()  # their threads are the parent's, and so is a lock that one may have held


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_in_child)
