"""The background loops on which scorers run: one that all share, until one of them blocks it.

A scorer that awaits holds nobody up. One that blocks its loop, written async or not, would hold up all
others; a loop that does not move for a second is left behind, and each scorer on it gets one of its own.
A process that is starved or suspended does not look either, and no scorer is begun twice for that.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from time import monotonic

from tracehooks.async_worker import AsyncWorker
from tracehooks.breathing import breathe

BEAT = 0.25  # seconds between the signs of life of a loop that has work
BLOCKED = 1.0  # seconds without one, while somebody looks
GAP = 0.9  # seconds between two looks in which not the loop stood still, but the whole process

Work = Callable[["Loop"], Awaitable[None]]


class Loop:
    """A background loop that gives signs of life."""

    def __init__(self, name: str) -> None:
        self._worker: AsyncWorker[Work] = AsyncWorker(name, self._do)
        self._beat = monotonic()
        self._beats = False
        self._seen = self._since = self._looked = self._beat  # the last sign, first seen when, and last look

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
        """Whether it has work and does not move. Ask every half second, or more often."""
        if self._beat != self._seen or now - self._looked > GAP:
            self._seen, self._since = self._beat, now
        self._looked = now
        return now - self._since > BLOCKED and self._worker.pending > 0

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
