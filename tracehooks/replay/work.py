"""A run's replays worked off: claimed, asked, and kept in the store with their traces, each once."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from tracehooks.replay.asks import Ask
from tracehooks.replay.driver import Driver, Reply
from tracehooks.scoring.coordinator import is_dead, this_owner
from tracehooks.store import Store
from tracehooks.store.replays import Replay, ReplayKey

logger = logging.getLogger("tracehooks")

LEASE = timedelta(seconds=60)
WAIT_SECONDS = 1.0
HOPELESS = 20
"""Failures in a row, and no answer yet, after which an agent is asked no more: it is down."""


@dataclass(kw_only=True)
class ReplayWork:
    """Asks what a run has planned and nobody has been asked yet.

    Each reply is kept before its slot is free, its trace first: after a kill the run goes on without asking
    again what was answered. ``progress(done, total)`` is called after each. Nothing more is asked after
    ``deadline`` (seconds since the epoch), nor once ``halted`` says so.
    """

    store: Store
    driver: Driver
    asks: Mapping[ReplayKey, Ask]
    concurrency: int = 8
    owner: str = field(default_factory=this_owner)
    lease: timedelta = LEASE
    deadline: float | None = None
    halted: Callable[[], bool] = lambda: False
    progress: Callable[[int, int], None] = lambda done, total: None

    async def work(self, run_id: str) -> None:
        """Do what is left of the run's replays; claims are given back whatever happens."""
        self._held: dict[ReplayKey, Replay] = {}
        self._failures, self._answers, self._done = 0, 0, 0
        self._take_over(run_id)
        self._total = self.store.replays.counts(run_id).waiting
        heartbeat = asyncio.create_task(self._renew())
        try:
            await self._drain(run_id)
        finally:
            heartbeat.cancel()
            self.store.replays.release(list(self._held.values()))

    @property
    def hopeless(self) -> bool:
        """Whether the agent has failed so often, and never answered, that asking on is pointless."""
        return not self._answers and self._failures >= HOPELESS

    def _stopped(self) -> bool:
        return self.hopeless or self.halted() or (self.deadline is not None and time.time() >= self.deadline)

    def _take_over(self, run_id: str) -> None:
        for owner in self.store.replays.owners(run_id):
            if is_dead(owner):
                released = self.store.replays.release_owner(owner)
                logger.info("took over %d replays of %s, which is gone", released, owner)

    async def _drain(self, run_id: str) -> None:
        queue: list[Replay] = []
        running: set[asyncio.Task[tuple[Replay, Reply]]] = set()
        try:
            while True:
                if not queue and not self._stopped():
                    queue = self._claim(run_id)
                while queue and len(running) < self.concurrency and not self._stopped():
                    running.add(asyncio.create_task(self._ask(queue.pop(0))))
                if not running:
                    if self._stopped() or not self.store.replays.counts(run_id).waiting:
                        return
                    await asyncio.sleep(WAIT_SECONDS)  # somebody who is gone, elsewhere, still has some
                    continue
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                self._keep([task.result() for task in done])
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    def _claim(self, run_id: str) -> list[Replay]:
        claimed = self.store.replays.claim(run_id, self.owner, self.concurrency, self.lease)
        self._held.update({one.key: one for one in claimed})
        return claimed

    async def _ask(self, one: Replay) -> tuple[Replay, Reply]:
        return one, await self.driver.ask(self.asks[one.key], one.run_id)

    def _keep(self, replies: Sequence[tuple[Replay, Reply]]) -> None:
        self.store.spans.add([span for _, reply in replies for span in reply.spans])
        self.store.replays.finish([finished(one, reply) for one, reply in replies])
        for one, reply in replies:
            del self._held[one.key]
            self._failures += reply.error is not None
            self._answers += reply.error is None
        self._done += len(replies)
        self.progress(self._done, self._total)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self.lease.total_seconds() / 3)
            self.store.replays.renew(list(self._held.values()), self.owner, self.lease)


def finished(replay: Replay, reply: Reply) -> Replay:
    """``replay`` with what came of it."""
    call = reply.call
    return replace(
        replay,
        state="done",
        trace_id=call.trace_id if call else None,
        span_id=call.span_id if call else None,
        answer=reply.answer,
        error=reply.error,
        reason=reply.reason,
        detail=reply.detail,
    )
