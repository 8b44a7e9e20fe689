"""The lane of one scorer: the calls that wait for it and those that it works on, apart from all others.

Each lane has its own background loop, so that a scorer that hangs, or blocks its loop, holds nobody up but
itself; and even itself not for ever: what takes too long is a timeout, and a loop that was blocked is left
behind for a fresh one.
"""

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from time import monotonic, sleep

from tracehooks.async_worker import AsyncWorker
from tracehooks.hooks.job import Job
from tracehooks.judges.untraced import untraced
from tracehooks.records import Reason, Score
from tracehooks.scoring.execute import run_scorer, unscored
from tracehooks.tracing.trouble import trouble

MOST_PENDING = 1000  # of one lane; what comes on top is dropped and counted
MOST_STUCK = 8  # loops, or awaiting scorers, that never came back; then no more are begun
LENIENCE = 0.5  # seconds that a scorer gets to take note of its timeout
BLOCKED = 1.5  # seconds after the timeout at which the loop itself must be blocked
POLL = 0.01  # seconds between looks while somebody waits

_scoring: ContextVar[bool] = ContextVar("tracehooks-scoring", default=False)


def is_scoring() -> bool:
    """Whether a scorer is running here: what it traces is our own work, and never scored in turn."""
    return _scoring.get()


class _Loop:
    """A background loop, and how many calls the scorer works on there at once."""

    def __init__(self, lane: "Lane", concurrency: int) -> None:
        self.slots = asyncio.Semaphore(concurrency)
        self.worker: AsyncWorker[Job] = AsyncWorker(f"scoring-{lane.name}", partial(lane.work_on, self))


class Lane:
    """Scores what is put, at most ``concurrency`` calls at once.

    ``finish(job, score)`` gets each result, ``drop(job, reason)`` each job that will have none.
    """

    def __init__(
        self,
        name: str,
        concurrency: int,
        finish: Callable[[Job, Score], None],
        drop: Callable[[Job, str], None],
    ) -> None:
        self.name = name
        self._concurrency = concurrency
        self._finish, self._drop = finish, drop
        # reentrant: the garbage collector may end a span, and so put, while this thread holds it
        self._lock = threading.RLock()
        self._jobs: dict[Job, None] = {}  # all that are not finished
        self._running: dict[Job, float] = {}  # and of these the ones begun: when the loop must be blocked
        self._loop = _Loop(self, concurrency)
        self._left_behind: list[AsyncWorker[Job]] = []
        self._deaf: set[asyncio.Task[Score]] = set()  # scorers that took no note of their timeout
        self._closed = False

    def put(self, job: Job) -> None:
        """Have ``job`` scored, or dropped when too many wait. Costs the caller next to nothing."""
        self._look_after_loop()
        with self._lock:
            closed, full = self._closed, len(self._jobs) >= MOST_PENDING
            if not closed and not full:
                self._jobs[job] = None
        if closed or full:
            self._drop(job, "closed" if closed else "queue_full")
        else:
            self._hand_over(job)

    def flush(self, timeout: float) -> bool:
        """Wait until all that was put so far has its result; False when ``timeout`` seconds were too few."""
        end = monotonic() + timeout
        waiting = list(self._jobs)
        while True:
            self._look_after_loop()
            waiting = [job for job in waiting if job in self._jobs]
            left = end - monotonic()
            if not waiting or left <= 0:
                return not waiting
            sleep(min(POLL, left))

    def close(self, timeout: float) -> bool:
        """Take no more, and drop what has no result after ``timeout`` seconds. False if there was any."""
        with self._lock:
            self._closed = True
        done = self.flush(timeout)
        self._loop.worker.close(0)
        for job in list(self._jobs):
            self._forget(job)
            self._drop(job, "closed")
        return done

    async def work_on(self, loop: _Loop, job: Job) -> None:
        """Score one job, on ``loop``."""
        try:
            call = job.call
        except Exception as error:
            trouble("reading a call from its span", error)
            if self._forget(job):
                self._drop(job, "unreadable")
            return
        async with loop.slots:
            if self._begin(loop, job):
                self._end(job, (await self._scored(job)).at(call.ref))

    def _hand_over(self, job: Job) -> None:
        if len(self._left_behind) >= MOST_STUCK and self._stuck() >= MOST_STUCK:
            self._end(job, _stuck(job).at(job.call.ref))
        elif not self._loop.worker.put(job) and self._forget(job):
            self._drop(job, "closed")

    def _begin(self, loop: _Loop, job: Job) -> bool:
        with self._lock:
            if loop is not self._loop or job not in self._jobs:
                return False
            self._running[job] = monotonic() + job.hook.timeout + BLOCKED
            return True

    def _end(self, job: Job, score: Score) -> None:
        if self._forget(job):
            self._finish(job, score)

    def _forget(self, job: Job) -> bool:
        """Whether ``job`` had no result until now."""
        with self._lock:
            self._running.pop(job, None)
            known = job in self._jobs
            self._jobs.pop(job, None)
            return known

    async def _scored(self, job: Job) -> Score:
        if len(self._deaf) >= MOST_STUCK:
            return _stuck(job)
        task = asyncio.ensure_future(_in_quiet(job))
        try:
            await asyncio.wait({task}, timeout=job.hook.timeout + LENIENCE)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if task.done():
            return _result(job, task)
        self._deaf.add(task)
        task.add_done_callback(self._deaf.discard)
        return _late(job)

    def _look_after_loop(self) -> None:
        now = monotonic()
        if any(due < now for due in list(self._running.values())):
            self._replace_loop(now)

    def _replace_loop(self, now: float) -> None:
        """Leave a blocked loop behind: what it worked on is late, what waited for it goes to another."""
        with self._lock:
            if not any(due < now for due in self._running.values()):
                return
            late, self._running = list(self._running), {}
            waiting = [job for job in self._jobs if job not in late]
            self._left_behind.append(self._loop.worker)
            self._loop.worker.close(0)
            self._loop = _Loop(self, self._concurrency)
        for job in late:
            self._end(job, _late(job).at(job.call.ref))
        for job in waiting:
            self._hand_over(job)

    def _stuck(self) -> int:
        with self._lock:
            self._left_behind = [worker for worker in self._left_behind if worker.is_alive]
            return len(self._left_behind)


async def _in_quiet(job: Job) -> Score:
    _scoring.set(True)
    try:
        with untraced():
            return await run_scorer(job.hook.scorer, job.call, job.hook.timeout)
    except (Exception, asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as error:  # SystemExit would end our loop
        return unscored(job.hook.scorer, Reason.SCORER_ERROR, type(error).__name__)


def _result(job: Job, task: "asyncio.Task[Score]") -> Score:
    if task.cancelled():
        return unscored(job.hook.scorer, Reason.SCORER_ERROR, "the scorer cancelled itself")
    return task.result()


def _late(job: Job) -> Score:
    return unscored(job.hook.scorer, Reason.TIMEOUT, f"the scorer took longer than {job.hook.timeout:g} s")


def _stuck(job: Job) -> Score:
    return unscored(job.hook.scorer, Reason.SCORER_ERROR, f"Stuck: {MOST_STUCK} earlier calls never returned")
