"""One daemon thread with an event loop, which works on many items at once; lazy and fork-aware."""

import asyncio
import contextlib
import logging
import os
import threading
import weakref
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import Context
from time import monotonic
from typing import Any, Generic, TypeVar

from tracehooks.breathing import at_work, breathe
from tracehooks.threads import DaemonExecutor

T = TypeVar("T")
logger = logging.getLogger("tracehooks")

LOOK = 0.01  # seconds between two looks for new items
LINGER = 0.5  # seconds without any after which the loop waits to be woken


class AsyncWorker(Generic[T]):
    """Awaits ``handle(item)`` for every item put, all at the same time, on one background loop.

    The thread starts with the first item and is a daemon, and so are the threads in which the loop makes
    blocking calls. Whoever puts waits for nothing, and none of its context reaches the handler. While items
    come the loop looks for them by itself: waking it is a system call, in which whoever puts would lose the
    interpreter. What a handler raises is logged once. A forked child begins with no thread and nothing
    pending: what the parent has, the parent does.
    """

    def __init__(self, name: str, handle: Callable[[T], Awaitable[None]]) -> None:
        self.name = name
        self._handle = handle
        self._closed = False
        self._warned = False
        self._reset()
        _workers.add(self)

    def _reset(self) -> None:
        # reentrant: the garbage collector may end a span, and so put, while this thread holds the lock
        self._changed = threading.Condition(threading.RLock())
        self._intake: deque[T] = deque()
        self._pending = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._looks_until = 0.0  # from then on it must be woken
        self._is_looking = False

    @property
    def pending(self) -> int:
        """Items put and not yet handled."""
        return self._pending

    @property
    def is_alive(self) -> bool:
        """Whether its thread runs; that of a closed worker may, while a handler holds it."""
        return self._thread is not None and self._thread.is_alive()

    def put(self, item: T) -> bool:
        """Hand over ``item``; False when the worker is closed, or the system gives no thread or file."""
        with self._changed:
            if self._closed or (self._loop is None and not self._start()):
                return False
            self._pending += 1
            self._intake.append(item)
            if not self._is_looking and self._loop is not None:
                self._is_looking = True
                self._loop.call_soon_threadsafe(self._look, context=Context())
        return True

    def flush(self, timeout: float) -> bool:
        """Wait until all that was put so far is handled; False when ``timeout`` seconds were not enough."""
        end = monotonic() + timeout
        changed = self._changed
        if not changed.acquire(timeout=max(0.0, timeout)):
            return False
        try:
            return changed.wait_for(lambda: self._pending == 0, max(0.0, end - monotonic()))
        finally:
            changed.release()

    def close(self, timeout: float) -> bool:
        """Take no more, give what is pending ``timeout`` seconds, and stop the loop. False if cut short."""
        with self._changed:
            self._closed = True
        done = self.flush(timeout)
        loop, self._loop = self._loop, None
        if loop is not None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(loop.stop)
        return done

    def _start(self) -> bool:
        try:
            loop = asyncio.new_event_loop()
        except OSError:  # the process has no file left, and a loop needs some
            return False
        loop.set_default_executor(DaemonExecutor())
        self._thread = threading.Thread(
            target=self._run, args=(loop,), name=f"tracehooks-{self.name}", daemon=True
        )
        try:
            self._thread.start()
        except RuntimeError:  # the interpreter is on its way out, or the system has no thread left
            loop.close()
            self._thread = None
            return False
        self._loop = loop
        return True

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            with at_work():
                loop.run_forever()
            loop.run_until_complete(self._end(list(self._tasks)))
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()

    async def _end(self, tasks: list[asyncio.Task[None]]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _look(self) -> None:
        if self._intake:
            self._looks_until = monotonic() + LINGER
            self._take_in()
        with self._changed:
            self._is_looking = bool(self._intake) or monotonic() < self._looks_until
        if self._is_looking:
            asyncio.get_running_loop().call_later(LOOK, self._look)

    def _take_in(self) -> None:
        for _ in range(len(self._intake)):
            task = asyncio.ensure_future(self._work_on(self._intake.popleft()))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            breathe()

    async def _work_on(self, item: T) -> None:
        try:
            await self._handle(item)
        except Exception:
            if not self._warned:
                self._warned = True
                logger.warning("the %s worker failed on an item", self.name, exc_info=True)
        finally:
            with self._changed:
                self._pending -= 1
                self._changed.notify_all()


_workers: "weakref.WeakSet[AsyncWorker[Any]]" = weakref.WeakSet()
# A child must never close a loop of its parent, even by collecting it: they share the selector.
_parents_loops: list[asyncio.AbstractEventLoop] = []


def _reset_in_child() -> None:
    for worker in list(_workers):
        if worker._loop is not None:
            _parents_loops.append(worker._loop)
        worker._reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_in_child)
