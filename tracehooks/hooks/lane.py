"""The lane of one scorer: the calls that wait for it and those that it works on, apart from all others."""

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from time import monotonic

from tracehooks.breathing import breathe
from tracehooks.errors import TracehooksError
from tracehooks.hooks.job import Job
from tracehooks.hooks.loops import Loop
from tracehooks.judges.terms import Terms, under
from tracehooks.judges.untraced import untraced
from tracehooks.records import Reason, Score
from tracehooks.scoring.execute import run_scorer, unscored
from tracehooks.tracing.trouble import trouble

MOST_PENDING = 1000  # of one lane; what comes on top is dropped and counted
MOST_TEXT = 64_000_000  # characters of all of these together
MOST_STUCK = 8  # loops, or awaiting scorers, that never came back; then no more are begun
LENIENCE = 0.5  # seconds that a scorer gets to take note of its timeout
OVERDUE = 1.5  # seconds after the timeout at which a call is late although its loop is blocked

_scoring: ContextVar[bool] = ContextVar("tracehooks-scoring", default=False)


def is_scoring() -> bool:
    """Whether a scorer is running here: what it traces is our own work, and never scored in turn."""
    return _scoring.get()


class Lane:
    """Scores what is put, at most ``concurrency`` calls at once, on ``loop`` until that is found blocked.

    ``finish(job, score)`` gets each result, ``drop(job, reason)`` each job that will have none. A scorer that
    hangs holds up only itself, and even itself not for ever: what takes too long is a timeout, and a loop of
    its own that it blocks is left behind for a fresh one.
    """

    def __init__(
        self,
        name: str,
        concurrency: int,
        loop: Loop,
        finish: Callable[[Job, Score], None],
        drop: Callable[[Job, str], None],
    ) -> None:
        self.name = name
        self._concurrency = concurrency
        self._stage = loop, asyncio.Semaphore(concurrency)
        self._finish, self._drop = finish, drop
        # reentrant: the garbage collector may end a span, and so put, while this thread holds it
        self._lock = threading.RLock()
        self._jobs: dict[Job, None] = {}  # all that are not finished
        self._text = 0  # their characters
        self._running: dict[Job, float] = {}  # and of these the ones begun: when they are overdue
        self._left_behind: list[Loop] = []
        self._deaf: set[asyncio.Task[Score]] = set()  # scorers that took no note of their timeout
        self._closed = False
        self._owns_loop = False

    @property
    def loop(self) -> Loop:
        """The loop that the scorer runs on."""
        return self._stage[0]

    def put(self, job: Job) -> None:
        """Have ``job`` scored, or dropped when too many wait. Costs the caller next to nothing."""
        with self._lock:
            too_large = self._text + job.size > MOST_TEXT and self._text > 0
            closed, full = self._closed, too_large or len(self._jobs) >= MOST_PENDING
            if not closed and not full:
                self._jobs[job] = None
                self._text += job.size
        if closed or full:
            self._drop(job, "closed" if closed else "queue_full")
        else:
            self._hand_over(job)

    def unfinished(self) -> list[Job]:
        """The jobs that have no result yet."""
        return list(self._jobs)

    def has(self, job: Job) -> bool:
        """Whether ``job`` has no result yet."""
        return job in self._jobs

    def look_after(self, now: float) -> None:
        """Leave a loop of its own behind that it blocks; what is overdue there is late."""
        blocked = self._owns_loop and self.loop.is_blocked(now)
        if blocked and any(due < now for due in list(self._running.values())):
            self.move(now)

    def move(self, now: float = 0.0) -> None:
        """Go on with a loop of its own: what was due before ``now`` is late, all else begins again there."""
        with self._lock:
            self._left_behind.append(self.loop)
            self.loop.close()
            self._owns_loop = True
            self._stage = Loop(f"scoring-{self.name}"), asyncio.Semaphore(self._concurrency)
            running, self._running = self._running, {}
            late = [job for job, due in running.items() if due < now]
            waiting = [job for job in self._jobs if job not in late]
        for job in late:
            self._end(job, _late(job).at(job.call.ref))
        for job in waiting:
            self._hand_over(job)

    def close(self) -> bool:
        """Take no more, and drop what has no result. False if there was any."""
        with self._lock:
            self._closed = True
            left = self.unfinished()
        for job in left:
            if self._forget(job):
                self._drop(job, "closed")
        return not left

    def _hand_over(self, job: Job) -> None:
        if len(self._left_behind) >= MOST_STUCK and self._stuck() >= MOST_STUCK:
            self._end(job, _stuck(job).at(job.call.ref))
            return
        loop = self.loop
        # a loop that was left behind meanwhile refuses, and who left it hands the job over
        if not loop.put(partial(self._work_on, job)) and loop is self.loop and self._forget(job):
            self._drop(job, "closed")

    def _stuck(self) -> int:
        with self._lock:
            self._left_behind = [loop for loop in self._left_behind if loop.is_alive]
            return len(self._left_behind)

    async def _work_on(self, job: Job, loop: Loop) -> None:
        here, slots = self._stage
        if here is not loop:  # this one was left behind
            return
        try:
            call = job.call
        except Exception as error:
            trouble("reading a call from its span", error)
            if self._forget(job):
                self._drop(job, "unreadable")
            return
        async with slots:
            if self._begin(job, loop):
                self._end(job, (await self._scored(job)).at(call.ref))

    def _begin(self, job: Job, loop: Loop) -> bool:
        with self._lock:
            if loop is not self.loop or job not in self._jobs or job in self._running:
                return False
            self._running[job] = monotonic() + job.hook.timeout + OVERDUE
            return True

    def _end(self, job: Job, score: Score) -> None:
        if self._forget(job):
            self._finish(job, score)

    def _forget(self, job: Job) -> bool:
        """Whether ``job`` had no result until now."""
        with self._lock:
            self._running.pop(job, None)
            known = job in self._jobs
            if known:
                del self._jobs[job]
                self._text -= job.size
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


async def _terms(job: Job) -> Terms | None:
    return None if job.paying is None else await job.paying.terms_of(job.hook.scorer)


async def _in_quiet(job: Job) -> Score:
    breathe()
    _scoring.set(True)
    try:
        with untraced(), under(await _terms(job)):
            return await run_scorer(job.hook.scorer, job.call, job.hook.timeout)
    except TracehooksError as error:  # a budget that cannot be kept, or a store that cannot be had
        return unscored(job.hook.scorer, Reason.SCORER_ERROR, str(error))
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
