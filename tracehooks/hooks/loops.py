"""The background loops on which scorers run: one that all share, until one of them blocks it.

A scorer that awaits holds nobody up. One that blocks its loop, written async or not, would hold up all
others; a loop that does not move for a second is left behind, and each scorer on it gets one of its own.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from time import monotonic

from tracehooks.async_worker import AsyncWorker
from tracehooks.breathing import breathe

BEAT = 0.25  # seconds between the signs of life of a loop that has work
BLOCKED = 1.0  # seconds without one

Work = Callable[["Loop"], Awaitable[None]]


class Loop:
    """A background loop that gives signs of life."""

    def __init__(self, name: str) -> None:
        self._worker: AsyncWorker[Work] = AsyncWorker(name, self._do)
        self._beat = monotonic()
        self._beats = False

    @property
    def is_alive(self) -> bool:
        """Whether its thread is there, be it blocked."""
        return self._worker.is_alive

    def put(self, work: Work) -> bool:
        """Have ``work(loop)`` done; False when the loop is closed or there can be no thread."""
        if self._worker.pending == 0:
            self._beat = monotonic()
        return self._worker.put(work)

    def is_blocked(self, now: float) -> bool:
        """Whether it has work and does not move."""
        return now - self._beat > BLOCKED and self._worker.pending > 0

    def close(self) -> None:
        """Take no more, and stop as soon as it moves."""
        self._worker.close(0)

    async def _do(self, work: Work) -> None:
        breathe()
        self._beat = monotonic()
        if not self._beats:
            self._beats = True
            self._live()
        await work(self)
        breathe()
        self._beat = monotonic()

    def _live(self) -> None:
        self._beat = monotonic()
        self._beats = self._worker.pending > 0
        if self._beats:
            with suppress(RuntimeError):
                asyncio.get_running_loop().call_later(BEAT, self._live)
