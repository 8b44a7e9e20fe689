"""One bounded background worker: a queue, a thread started when first needed, and honest counts.

The thread is a daemon. After a fork the child begins with an empty queue and no thread, so nothing that the
parent still holds is handled twice. Work never runs on the thread of whoever puts it; only when the
interpreter, on its way out, refuses to start a thread does :meth:`BackgroundWorker.flush` do it itself.
It is done in small pieces (see ``tracehooks.breathing``), but for what a flush waits for and while the queue
is more than half full.
"""

import contextlib
import logging
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Any, Generic, TypeVar

from tracehooks.breathing import at_work, hurried

T = TypeVar("T")
logger = logging.getLogger("tracehooks")

MAX_SIZE = 64_000_000  # about bytes, where items are texts


class BackgroundWorker(Generic[T]):
    """Hands items in batches to ``handle`` on a background thread.

    ``handle`` gets between 1 and ``max_batch`` items in the order they were put; what it raises is logged
    once and its batch counts as handled, so a handler keeps its own account of what it lost. The queue holds
    at most ``max_queue`` items. Those that are not handled yet have at most ``max_size`` together, in
    whatever unit :meth:`put` is told; one that alone is larger is taken when there is nothing else. A batch
    waits at most ``interval`` seconds.
    """

    def __init__(
        self,
        name: str,
        handle: Callable[[list[T]], object],
        *,
        max_queue: int = 2048,
        max_batch: int = 512,
        max_size: int = MAX_SIZE,
        interval: float = 1.0,
    ) -> None:
        if not 0 < max_batch <= max_queue or interval <= 0:
            raise ValueError("max_queue, max_batch and interval must be positive, max_batch <= max_queue")
        self.name = name
        self._handle = handle
        self._max_queue = max_queue
        self._max_batch = max_batch
        self._max_size = max_size
        self._interval = interval
        self._closed = False
        self._warned = False
        self._reset()
        _workers.add(self)

    def _reset(self) -> None:
        # Reentrant on purpose: the garbage collector may end a span, and so put, while this thread holds it.
        self._changed = threading.Condition(threading.RLock())
        self._queue: deque[tuple[T, int]] = deque()  # each item with its size
        self._size = 0  # of all in the queue, and of those that are being handled
        self._in_hand = 0  # of the latter
        self._thread: threading.Thread | None = None
        self._accepted = 0
        self._handled = 0
        self._wanted = 0  # a flush waits until this many are handled
        self._dropped = 0

    @property
    def pending(self) -> int:
        """Items put and not yet handled."""
        with self._changed:
            return self._accepted - self._handled

    @property
    def dropped(self) -> int:
        """Items refused: the queue was full or the worker closed, or closed before they were handled."""
        return self._dropped

    def put(self, item: T, size: int = 0) -> bool:
        """Queue ``item``; False when it was refused. Never blocks for longer than the lock is held."""
        with self._changed:
            too_large = self._size + size > self._max_size and self._size > 0
            if self._closed or too_large or len(self._queue) >= self._max_queue:
                self._dropped += 1
                return False
            self._size += size
            self._queue.append((item, size))
            self._accepted += 1
            if self._thread is None:
                self._start()
            elif len(self._queue) in (1, self._max_batch):
                for function in _waking:
                    function()
                self._changed.notify_all()
            return True

    def start(self) -> bool:
        """Start the thread now, and not with the first item. False when the system gives none."""
        with self._changed:
            return self._start()

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until everything put so far is handled; False when ``timeout`` seconds were not enough."""
        with hurried():
            return self._flush(monotonic() + timeout)

    def _flush(self, deadline: float) -> bool:
        with self._changed:
            target = self._accepted
            self._wanted = max(self._wanted, target)
            self._changed.notify_all()
            able = self._handled >= target or self._start()
        if not able:
            self._drain_here(deadline)
        with self._changed:
            return self._changed.wait_for(lambda: self._handled >= target, max(0.0, deadline - monotonic()))

    def close(self, timeout: float = 5.0) -> bool:
        """Refuse new items, handle what is queued, stop the thread; False when ``timeout`` was not enough.

        What is still queued then is dropped and counted.
        """
        with self._changed:
            self._closed = True
        done = self.flush(timeout)
        with self._changed:
            self._dropped += len(self._queue)
            self._handled += len(self._queue)
            self._size -= sum(size for _, size in self._queue)
            self._queue.clear()
            self._changed.notify_all()
        return done

    def _start(self) -> bool:
        if self._thread is not None and self._thread.is_alive():
            return True
        for function in _starting:
            with contextlib.suppress(Exception):
                function()
        self._thread = threading.Thread(target=self._run, name=f"tracehooks-{self.name}", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # the interpreter is on its way out, or the system has no thread left
            self._thread = None
        return self._thread is not None

    def _run(self) -> None:
        changed = self._changed
        with at_work(self._pressure):
            while changed is self._changed:
                with changed:
                    batch = self._next_batch()
                if not batch:
                    return
                self._work_on(batch)

    def _pressure(self) -> float:
        """0 until the queue is half full, 1 from three quarters on; when it is full, what comes is lost."""
        waiting = len(self._queue) / self._max_queue if len(self._queue) > self._max_batch else 0.0
        return 4 * max(0.0, waiting - 0.5, self._size / self._max_size - 0.5)

    def _next_batch(self) -> list[T]:
        """The next batch once it is due; empty when the worker is closed. Called with the lock held."""
        due = 0.0
        while not self._is_due(due):
            if not self._queue and self._closed:
                return []
            if self._queue and not due:
                due = monotonic() + self._interval
            self._changed.wait(due - monotonic() if due else None)
        return self._take()

    def _is_due(self, due: float) -> bool:
        if not self._queue:
            return False
        at_once = self._closed or self._wanted > self._handled or len(self._queue) >= self._max_batch
        return at_once or 0 < due <= monotonic()

    def _take(self) -> list[T]:
        with self._changed:
            taken = [self._queue.popleft() for _ in range(min(len(self._queue), self._max_batch))]
            self._in_hand = sum(size for _, size in taken)
            return [item for item, _ in taken]

    def _work_on(self, batch: list[T]) -> None:
        try:
            self._handle(batch)
        except BaseException:  # were it SystemExit: nobody else would work on what comes
            if not self._warned:
                self._warned = True
                logger.warning("tracehooks: the %s worker failed on a batch", self.name, exc_info=True)
        finally:
            with self._changed:
                self._handled += len(batch)
                self._size -= self._in_hand
                self._in_hand = 0
                self._changed.notify_all()

    def _drain_here(self, deadline: float) -> None:
        while monotonic() < deadline and (batch := self._take()):
            self._work_on(batch)


_workers: "weakref.WeakSet[BackgroundWorker[Any]]" = weakref.WeakSet()
_starting: list[Callable[[], object]] = []
_waking: list[Callable[[], object]] = []


def when_starting(function: Callable[[], object]) -> None:
    """Have ``function`` called whenever a worker starts its thread, on the thread that has work for it."""
    _starting.append(function)


def when_waking(function: Callable[[], object]) -> None:
    """Have ``function``, which must be quick and not raise, called whenever a put wakes a worker's thread."""
    _waking.append(function)


def _reset_in_child() -> None:
    for worker in list(_workers):
        with contextlib.suppress(Exception):
            worker._reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_in_child)
