"""The coordinator: the only one that claims work and commits scores."""

import asyncio
import logging
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tracehooks.errors import StoreError
from tracehooks.records import AgentCall, Reason, Score, Status
from tracehooks.scoring.execute import Batch, Grant, Outcome, Task, execute
from tracehooks.store import ScoreRecord, WorkItem

if TYPE_CHECKING:
    from tracehooks.store import Store

logger = logging.getLogger("tracehooks")

LEASE = timedelta(seconds=60)
WAIT_SECONDS = 0.5  # between looks at what others do, and whether the run is to stop
# so many failures of a kind in a row say that asking on is pointless; one alone may be a hiccup, but for a
# spent quota, which a server names by its code and which does not come back by itself
HOPELESS_IN_A_ROW = {Reason.UNREACHABLE: 30, Reason.REJECTED: 30, Reason.QUOTA: 1}


def this_owner() -> str:
    """Who holds a claim: host, process and the process's birth, so that a dead holder can be told."""
    return f"{socket.gethostname()}:{os.getpid()}:{process_birth(os.getpid())}"


def process_birth(pid: int) -> str:
    """When a process started, in a form that a later process of the same number does not share."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:  # noqa: PTH123 - not a file
            return stat.read().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def is_dead(owner: str) -> bool:
    """Whether ``owner`` was a process of this host that is no more. Unknown counts as alive."""
    host, _, rest = owner.partition(":")
    pid, _, birth = rest.partition(":")
    if host != socket.gethostname() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return bool(birth) and process_birth(int(pid)) != birth


def stopped_words(stopped: Reason | None) -> str:
    """Why a judge was not asked on, in a sentence; it begins with a word for programs."""
    if stopped is Reason.QUOTA:
        return "judge: stopped at the first answer that its account has no quota left (quota)"
    return f"judge: stopped after too many answers were {stopped}"


@dataclass(slots=True)
class Tally:
    """What one pass did: outcomes by status and reason, tokens, and why it stopped early, if it did.

    ``halted`` says that somebody wanted it to stop, ``waiting`` that there is nothing to do before a batch is
    answered.
    """

    scored: int = 0
    unscored: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    input_tokens: int = 0
    output_tokens: int = 0
    requests: int = 0
    cached: int = 0
    stopped: Reason | None = None
    halted: bool = False
    waiting: bool = False

    @property
    def done(self) -> int:
        """How many outcomes were committed."""
        return self.scored + self.unscored.total() + self.skipped.total()

    def include(self, other: "Tally") -> None:
        """Count what another part of the same pass did, too."""
        self.scored += other.scored
        self.unscored += other.unscored
        self.skipped += other.skipped
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens
        self.requests += other.requests
        self.cached += other.cached

    def add(self, score: Score) -> None:
        """Count one committed score."""
        if score.status is Status.SCORED:
            self.scored += 1
        else:
            counter = self.unscored if score.status is Status.UNSCORED else self.skipped
            counter[str(score.reason_code)] += 1
        usage = score.metadata.get("usage") or {}
        self.input_tokens += usage.get("input_tokens") or 0
        self.output_tokens += usage.get("output_tokens") or 0
        self.requests += score.metadata.get("attempts") or 0
        self.cached += score.metadata.get("cached") is True


@dataclass(kw_only=True)
class Coordinator:
    """Works a run's items off: claims them, has them executed, commits each result before its slot is free.

    So at any moment at most ``concurrency`` answers are paid for and not yet stored.
    ``all_results`` are those of ``sinks`` that also want what has no value, ``unwanted`` the names of scores
    that a sink is not to get, by sink. ``progress(tally, total)`` is called after each commit. ``prepare``
    gives the scorer a call as it needs to see it; ``labels`` of an item go into its score's metadata.
    With ``stopped``, why it is of no use to ask the judge, it asks nothing and says so.
    """

    store: "Store"
    scorer: Any
    project: str
    sinks: Sequence[str] = ()
    all_results: Sequence[str] = ()
    unwanted: Mapping[str, Collection[str]] = field(default_factory=dict)
    concurrency: int = 16
    grant: Grant = field(default_factory=Grant)
    rescore: bool = False
    owner: str = field(default_factory=this_owner)
    lease: timedelta = LEASE
    halted: Callable[[], bool] = lambda: False
    progress: Callable[[Tally, int], None] = lambda tally, total: None
    prepare: Callable[[AgentCall], AgentCall] = lambda call: call
    labels: Callable[[WorkItem], Mapping[str, Any]] = lambda item: {}
    stopped: Reason | None = None

    async def work(self, run_id: str) -> Tally:
        """Do what is left of the run. Returns what this pass did; claims are given back whatever happens.

        What others hold is waited for, and taken over when they are gone: afterwards nothing is left, unless
        the judge is hopeless, time is up, or ``halted`` said so.
        """
        self._tally, self._in_a_row = Tally(stopped=self.stopped), 0
        self._last_reason: Reason | None = None
        self._held: dict[tuple[str, str, str], tuple[WorkItem, AgentCall | None]] = {}
        self._take_over()
        self._total = self.store.items.remaining(run_id)
        heartbeat = asyncio.create_task(self._renew())
        try:
            await self._drain(run_id)
        finally:
            heartbeat.cancel()
            self.store.items.release(self._items_held())
        return self._tally

    def _take_over(self) -> None:
        for owner in self.store.items.owners():
            if is_dead(owner):
                released = self.store.items.release_owner(owner)
                logger.info("took over %d items of %s, which is gone", released, owner)

    async def _drain(self, run_id: str) -> None:
        queue: list[Task] = []
        running: set[asyncio.Task[list[Outcome]]] = set()
        try:
            while not self.halted():
                if not queue and not self._tally.stopped:
                    queue = self._claim(run_id)
                while queue and len(running) < self.concurrency and not self._tally.stopped:
                    batch = Batch((queue.pop(0),))
                    running.add(asyncio.create_task(execute(batch, self.grant)))
                if running:
                    done, running = await asyncio.wait(
                        running, timeout=WAIT_SECONDS, return_when=asyncio.FIRST_COMPLETED
                    )
                    self._commit([outcome for task in done for outcome in task.result()])
                elif self._tally.stopped or not await self._wait_for_others(run_id):
                    return
            self._tally.halted = True
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _wait_for_others(self, run_id: str) -> bool:
        """Whether others hold what is left; then a while has passed."""
        if not self.store.items.remaining(run_id):
            return False
        if self.grant.deadline is not None and time.time() >= self.grant.deadline:
            self._tally.stopped = Reason.TIMEOUT
            return False
        await asyncio.sleep(WAIT_SECONDS)
        self._take_over()
        return True

    def _claim(self, run_id: str) -> list[Task]:
        items = self.store.items.claim(run_id, self.owner, self.concurrency, self.lease)
        calls = self.store.calls.get_many([item.ref for item in items])
        tasks, gone = [], []
        for item in items:
            call = calls.get((item.trace_id, item.span_id))
            self._held[item.key] = item, call
            if call is None:
                gone.append(self._gone(item))
            else:
                tasks.append(Task(item.key, self.prepare(call), self.scorer))
        self._commit(gone)
        return tasks

    def _gone(self, item: WorkItem) -> Outcome:
        """The call was pruned after it had been planned: there is no text any more."""
        score = Score.skipped(self.scorer.name, Reason.NO_TEXT, "the call is no longer in the store")
        return Outcome(item.key, score.at(item.ref))

    def _commit(self, outcomes: Sequence[Outcome]) -> None:
        done = [outcome for outcome in outcomes if outcome.score.reason_code is not Reason.NOT_ATTEMPTED]
        if len(done) < len(outcomes):
            self._tally.stopped = self._tally.stopped or Reason.TIMEOUT
        records = [self._record(outcome) for outcome in done]
        written = self._write(records) if records else []
        for outcome, was_ours in zip(done, written, strict=True):
            del self._held[outcome.key]
            if was_ours:
                self._tally.add(outcome.score)
                self._watch(outcome.score)
        if done:
            self.progress(self._tally, self._total)

    def _write(self, records: Sequence[ScoreRecord]) -> list[bool]:
        return self.store.scores.commit(
            records,
            project=self.project,
            sinks=self.sinks,
            all_results=self.all_results,
            unwanted=self.unwanted,
        )

    def _record(self, outcome: Outcome) -> ScoreRecord:
        item, call = self._held[outcome.key]
        score, labels = outcome.score, self.labels(item)
        return ScoreRecord(
            score=replace(score, metadata={**score.metadata, **labels}) if labels else score,
            call=call,
            run_id=item.run_id,
            item=item,
            scorer_version=self.scorer.version,
            probability=item.probability,
            source="job",
            rescore=self.rescore,
        )

    def _watch(self, score: Score) -> None:
        """Stop asking a judge that is down, refuses us, or has no money left."""
        same = score.reason_code is not None and score.reason_code is self._last_reason
        self._in_a_row = self._in_a_row + 1 if same else 1
        self._last_reason = score.reason_code
        limit = HOPELESS_IN_A_ROW.get(score.reason_code) if score.reason_code else None
        if limit is not None and self._in_a_row >= limit:
            self._tally.stopped = score.reason_code

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self.lease.total_seconds() / 3)
            try:
                self.store.items.renew(self._items_held(), self.owner, self.lease)
            except StoreError as error:
                logger.warning("leases could not be renewed: %s", error)

    def _items_held(self) -> list[WorkItem]:
        return [item for item, _ in self._held.values()]
