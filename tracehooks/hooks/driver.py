"""The driver: finished spans in, committed and delivered scores out, all of it in the background."""

import asyncio
import logging
import os
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

from tracehooks.async_worker import AsyncWorker
from tracehooks.calls import agent_call, span_record
from tracehooks.hooks.counts import HookCounts
from tracehooks.hooks.hook import ScoringHook
from tracehooks.hooks.spans import SpansAround
from tracehooks.records import AgentCall, Score
from tracehooks.sampling import in_sample
from tracehooks.scoring.coordinator import this_owner
from tracehooks.scoring.deliver import Deliverer, load_sinks
from tracehooks.scoring.execute import run_scorer
from tracehooks.settings import Settings
from tracehooks.store import ScoreRecord, Store, open_store
from tracehooks.tracing.pipeline import FullText
from tracehooks.worker import BackgroundWorker

logger = logging.getLogger("tracehooks")

MOST_PENDING = 1000  # of one hook; what comes on top is dropped and counted
MOST_COMMITS = 10_000
COMMIT_INTERVAL = 0.2  # seconds that a result waits for company
DELIVERY_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class _Job:
    hook: ScoringHook
    span: Any
    full: FullText | None
    below: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Result:
    """``hook`` is None for a score that was attached from outside."""

    hook: ScoringHook | None
    call: AgentCall | None
    score: Score

    def record(self) -> ScoreRecord:
        if self.hook is None:
            return ScoreRecord(score=self.score, source="feedback", rescore=True)
        return ScoreRecord(
            score=self.score,
            call=self.call,
            scorer_version=getattr(self.hook.scorer, "version", ""),
            probability=self.hook.rate,
            source="hook",
        )


class HookDriver:
    """Scores what hooks want. ``hooks`` are those of the settings; decorators bring their own.

    Scorers are isolated from each other: each hook has its own bound on what waits and on what runs.
    """

    def __init__(self, settings: Settings, hooks: Sequence[ScoringHook] = ()) -> None:
        self.settings = settings
        self._hooks = tuple(hooks)
        self._around = SpansAround(self._is_wanted) if hooks else None
        self._sinks = load_sinks(settings)
        self._scoring: AsyncWorker[_Job] = AsyncWorker("scoring", self._work_on)
        self._commits: BackgroundWorker[_Result] = BackgroundWorker(
            "commits", self._commit, max_queue=MOST_COMMITS, interval=COMMIT_INTERVAL
        )
        self._deliveries: BackgroundWorker[bool] = BackgroundWorker(
            "delivery", self._deliver, max_queue=1, max_batch=1, interval=0.01
        )
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._store: Store | None = None
        self._slots: dict[ScoringHook, asyncio.Semaphore] = {}
        self._waiting: Counter[ScoringHook] = Counter()
        self.counts = HookCounts()

    def _is_wanted(self, trace_id: str) -> bool:
        return any(in_sample(trace_id, hook.rate) for hook in self._hooks)

    def on_start(self, span: Any) -> None:
        """A span, anybody's, begins."""
        if self._around is not None:
            self._around.started(span)

    def on_span(self, span: Any, full: FullText | None, hooks: tuple[Any, ...]) -> None:
        """Decide about one finished span, on the thread that ended it."""
        if os.getpid() != self._pid:
            self._begin()
        below: tuple[Any, ...] = ()
        if self._around is not None:
            outermost, below = self._around.ended(span)
            if outermost:
                name = str(span.attributes.get("gen_ai.agent.name") or span.name)
                hooks = (*hooks, *(hook for hook in self._hooks if hook.wants(name)))
        for hook in hooks:
            self._trigger(_Job(hook, span, full, below))

    def attach(self, score: Score) -> bool:
        """Store and deliver a score from outside; False when the queue is full."""
        return self._commits.put(_Result(None, None, score))

    def _trigger(self, job: _Job) -> None:
        hook = job.hook
        sampled = in_sample(f"{job.span.context.trace_id:032x}", hook.rate)
        self.counts.trigger(sampled=sampled)
        if not sampled:
            return
        with self._lock:
            full = self._waiting[hook] >= MOST_PENDING
            self._waiting[hook] += not full
        if full:
            self.counts.drop("queue_full")
        elif not self._scoring.put(job):
            self._waiting[hook] -= 1
            self.counts.drop("closed")

    async def _work_on(self, job: _Job) -> None:
        hook = job.hook
        try:
            slots = self._slots.setdefault(hook, asyncio.Semaphore(hook.concurrency))
            async with slots:
                call = _call(job)
                score = await run_scorer(hook.scorer, call, hook.timeout)
            if not self._commits.put(_Result(hook, call, score.at(call.ref))):
                self.counts.drop("commit_queue_full")
        except BaseException:
            self.counts.drop("error")
            raise
        finally:
            with self._lock:
                self._waiting[hook] -= 1

    def _commit(self, results: list[_Result]) -> None:
        records = [result.record() for result in results]
        try:
            self.store.scores.commit(records, project=self.settings.project, sinks=tuple(self._sinks))
        except Exception as error:
            self.counts.drop("store_failed", sum(result.hook is not None for result in results))
            logger.warning("%d scores could not be stored: %s", len(results), error)
            return
        for result in results:
            if result.hook is not None:
                self.counts.settle(result.score)
        if self._sinks:
            self._deliveries.put(True)

    def _deliver(self, _: list[bool]) -> None:
        Deliverer(self.store, self._sinks, owner=this_owner()).deliver(DELIVERY_SECONDS)

    @property
    def store(self) -> Store:
        """The store, opened when first needed."""
        with self._lock:
            if self._store is None:
                self._store = open_store(self.settings.store)
            return self._store

    def flush(self, timeout: float) -> bool:
        """Wait until all that was triggered is scored, stored and delivered; False when time ran out."""
        end = monotonic() + timeout
        return all(
            [
                self._scoring.flush(end - monotonic()),
                self._commits.flush(max(0.0, end - monotonic())),
                self._deliveries.flush(max(0.0, end - monotonic())),
            ]
        )

    def close(self, timeout: float) -> bool:
        """Flush within ``timeout`` seconds, then stop. What is left is dropped and counted."""
        end = monotonic() + timeout
        done = self._scoring.close(timeout)
        done = self._commits.close(max(0.0, end - monotonic())) and done
        done = self._deliveries.close(max(0.0, end - monotonic())) and done
        with self._lock:
            if self._store is not None:
                self._store.close()
                self._store = None
        return done


def _call(job: _Job) -> AgentCall:
    """The call at the job's span, with its full text where the recorded attribute was cut."""
    span = span_record(job.span)
    if job.full is not None:
        span = replace(span, attributes=job.full.restored(span.attributes))
    return agent_call(span, [span_record(other) for other in job.below])
