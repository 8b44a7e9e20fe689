"""The scheduler: one process that runs the jobs when they are due, on APScheduler.

APScheduler keeps the time and the threads; it is told of each job's next slot by the job's own timetable, and
holds no state that matters. A look around every few seconds finds what it cannot know of: that the machine
slept, that the clock was set, that another scheduler died in the middle of a run.
"""

import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from apscheduler.executors.pool import BasePoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.base import BaseTrigger

from tracehooks.errors import ConfigurationError
from tracehooks.jobs.dispatch import Dispatcher
from tracehooks.jobs.drivers import DRIVERS, job_settings, scheduled_jobs
from tracehooks.jobs.keeper import utc_now
from tracehooks.jobs.notify import Notifier
from tracehooks.jobs.telemetry import Telemetry
from tracehooks.jobs.timetable import Timetable
from tracehooks.scoring.coordinator import this_owner
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store
from tracehooks.threads import DaemonExecutor

logger = logging.getLogger("tracehooks")

LOOK_SECONDS = 15.0
ALIVE_SECONDS = 4 * LOOK_SECONDS
FORGOTTEN = timedelta(days=1)  # a scheduler that was not seen for so long is gone


class Scheduler:
    """Runs the jobs that ``settings`` schedule on ``store``, each one at a time, until it is stopped.

    Any number of them may share a store. ``look`` is how often it looks around, in seconds. ``began`` and
    ``ended`` are told of runs, for a log.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        *,
        clock: Callable[[], datetime] = utc_now,
        owner: str | None = None,
        look: float = LOOK_SECONDS,
        ended: Callable[[RunRecord], None] = lambda run: None,
    ) -> None:
        self._store, self._clock, self._look = store, clock, look
        self._owner = owner or this_owner()
        self._ended = ended
        self._stopping = threading.Event()
        self._looked = time.monotonic()
        self._notifier = Notifier(settings, store, clock=clock)
        self._telemetry = Telemetry()
        self._busy = {name: threading.Lock() for name in scheduled_jobs(settings)}
        self._dispatchers = {name: self._dispatcher(settings, name) for name in self._busy}
        self._within = settings.scheduler.stop_within.total_seconds()
        self._scheduler = BackgroundScheduler(
            timezone=UTC,
            executors={"default": _Daemons(DaemonExecutor())},
            # a job's second instance finds the first at work, and leaves; APScheduler would warn of it
            job_defaults={"coalesce": True, "max_instances": 3, "misfire_grace_time": None},
        )

    @property
    def jobs(self) -> dict[str, Timetable]:
        """The jobs and their timetables."""
        return {name: one.timetable for name, one in self._dispatchers.items()}

    def is_alive(self) -> bool:
        """Whether it has looked around lately."""
        return time.monotonic() - self._looked < max(ALIVE_SECONDS, 4 * self._look)

    def start(self) -> None:
        """Begin, and return."""
        for name, dispatcher in self._dispatchers.items():
            trigger = _Slots(dispatcher.timetable)
            self._scheduler.add_job(self._act, trigger, args=[name], id=name, replace_existing=True)
        look = {"seconds": self._look, "next_run_time": datetime.now(UTC), "max_instances": 1}
        self._scheduler.add_job(self._look_around, "interval", id="look", replace_existing=True, **look)
        self._scheduler.start()

    def stop(self) -> bool:
        """Begin nothing more, let runs be put away, and leave. False when one took longer than it may.

        What it was doing is marked interrupted; the next scheduler goes on with it.
        """
        self._stopping.set()
        self._scheduler.remove_all_jobs()
        end = time.monotonic() + self._within
        done = all(lock.acquire(timeout=max(0.0, end - time.monotonic())) for lock in self._busy.values())
        self._scheduler.shutdown(wait=False)
        self._put_away()
        self._store.schedulers.leave(self._owner)
        self._telemetry.close()
        return done

    def _put_away(self) -> None:
        for run in self._store.runs.list(limit=20):
            if run.owner == self._owner and run.state == "running":
                self._store.runs.update(run.id, held_by=self._owner, state="interrupted", ended=self._clock())
                self._store.items.release_owner(self._owner)

    def _dispatcher(self, settings: Settings, name: str) -> Dispatcher:
        job = job_settings(settings, name)
        assert job.schedule is not None
        return Dispatcher(
            job=name,
            settings=settings,
            store=self._store,
            timetable=Timetable(job.schedule, job.timezone),
            driver=DRIVERS[name],
            grace=job.grace,
            owner=self._owner,
            clock=self._clock,
            halted=self._stopping.is_set,
            ended=self._told,
            missed=self._notifier.about_missed,
        )

    def _told(self, run: RunRecord) -> None:
        self._ended(run)
        self._notifier.about(run)
        self._telemetry.record(run)

    def _act(self, name: str) -> None:
        """Do what is due of one job, unless it is being done. Whatever happens, the scheduler goes on."""
        lock = self._busy[name]
        if not lock.acquire(blocking=False):
            return
        try:
            if not self._stopping.is_set():
                self._dispatchers[name].act()
        except ConfigurationError as error:
            logger.error("%s is not run: %s", name, error)
        except Exception as error:
            logger.exception("%s could not be run: %s: %s", name, type(error).__name__, error)
        finally:
            lock.release()

    def _look_around(self) -> None:
        try:
            self._store.schedulers.beat(self._owner)
            self._store.schedulers.forget(self._clock() - FORGOTTEN)
            for name, dispatcher in self._dispatchers.items():
                free = dispatcher.is_due() and not self._busy[name].locked()
                if free and self._scheduler.get_job(name):  # there is none for what is never due
                    self._scheduler.modify_job(name, next_run_time=datetime.now(UTC))
            self._notifier.send()
            self._looked = time.monotonic()
        except Exception as error:
            logger.warning("the scheduler could not look around: %s: %s", type(error).__name__, error)


class _Slots(BaseTrigger):  # type: ignore[misc]
    """The slots of a timetable as APScheduler asks for them."""

    def __init__(self, timetable: Timetable) -> None:
        self._timetable = timetable

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime | None:
        slot = self._timetable.after((previous_fire_time or now).astimezone(UTC))
        return None if slot is None else slot.due


class _Daemons(BasePoolExecutor):  # type: ignore[misc]
    """Threads that do not keep the process from ending when a run hangs."""

    def __init__(self, pool: Any) -> None:
        super().__init__(pool)
