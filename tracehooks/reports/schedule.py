"""How the schedules of a store stand: what runs next, what is late, and what was missed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tracehooks.jobs.drivers import job_settings, scheduled_jobs
from tracehooks.jobs.timetable import Slot, Timetable
from tracehooks.reports.run_words import Fact
from tracehooks.reports.wording import count, duration, moment, plain
from tracehooks.settings import Settings
from tracehooks.store import Store
from tracehooks.store.firings import Firing

SEEN_WITHIN = timedelta(minutes=2)  # a scheduler that is alive is seen more often than that
ON_TIME = timedelta(minutes=2)  # what is due that long may be just beginning


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSchedule:
    """One scheduled job. ``waiting`` is a slot that is due and that nobody has acted upon in time.

    ``missed`` are the firings since the last run that came to its end.
    """

    job: str
    schedule: str
    timezone: str
    next: Slot | None
    last: Firing | None
    waiting: Slot | None
    missed: tuple[Firing, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedules:
    """The scheduled jobs of a store that schedulers look after. ``seen`` is when one was last there."""

    jobs: tuple[JobSchedule, ...]
    schedulers: int
    seen: datetime | None

    @property
    def problems(self) -> list[str]:
        """What is not as it should be, a sentence each."""
        found = []
        for job in self.jobs:
            if job.missed:
                slots = ", ".join(_name(firing.slot) for firing in job.missed[:3])
                found.append(f"{job.job} was missed {count(len(job.missed), 'time')}: {slots}")
            if job.waiting is not None:
                found.append(f"{job.job} is late: it was due at {moment(job.waiting.due)} UTC")
        return found


def schedules(store: Store, settings: Settings, now: datetime) -> Schedules | None:
    """How the schedules stand; None where no scheduler was ever started on the store."""
    known = store.schedulers.list()
    lasts = {job: store.firings.latest(job) for job in scheduled_jobs(settings)}
    if not known and not any(lasts.values()):
        return None
    alive = [one for one in known if now - one.seen < SEEN_WITHIN]
    return Schedules(
        jobs=tuple(_job(store, settings, job, last, now) for job, last in lasts.items()),
        schedulers=len(alive),
        seen=known[0].seen if known else None,
    )


def _job(store: Store, settings: Settings, job: str, last: Firing | None, now: datetime) -> JobSchedule:
    section = job_settings(settings, job)
    timetable = Timetable(section.schedule or "", section.timezone)
    due = timetable.between(last.due, now - ON_TIME) if last is not None else []
    if not due and last is not None and last.state == "open" and _is_abandoned(store, last, now):
        due = [Slot(last.due, last.slot)]
    return JobSchedule(
        job=job,
        schedule=section.schedule or "",
        timezone=section.timezone,
        next=timetable.after(now),
        last=last,
        waiting=due[-1] if due else None,
        missed=tuple(_missed(store.firings.list(job, limit=100))),
    )


def _is_abandoned(store: Store, firing: Firing, now: datetime) -> bool:
    """Whether a firing that was noted has no run, or one that nobody works on."""
    if now - firing.noted_at < ON_TIME:
        return False
    run = store.runs.of_window(firing.job, *firing.window) if firing.window else None
    if run is not None and run.waiting:
        return now > datetime.fromisoformat(run.report["batch"]["due"]) + ON_TIME
    return run is None or run.state != "running" or run.lapsed


def _missed(firings: Sequence[Firing]) -> list[Firing]:
    """Those missed since the last that was seen to its end."""
    found = []
    for firing in firings:
        if firing.state == "done" and firing.run_id is not None:
            break
        if firing.state == "missed":
            found.append(firing)
    return found


def schedule_facts(found: Schedules, now: datetime) -> list[Fact]:
    """The schedules for a terminal."""
    facts = []
    for job in found.jobs:
        following = (
            f"next {moment(job.next.due)} UTC, in {duration(job.next.due - now)}" if job.next else "never"
        )
        facts.append(Fact("schedule", f"{job.job}: {plain(job.schedule)} {job.timezone}, {following}"))
    if found.schedulers:
        facts.append(Fact("scheduler", f"{count(found.schedulers, 'process', 'processes')} running"))
    elif found.seen is not None:
        facts.append(Fact("scheduler", f"none is running; one was last seen {moment(found.seen)} UTC"))
    else:
        facts.append(Fact("scheduler", "none is running; the last one was stopped in order"))
    return facts + [Fact("problem", problem) for problem in found.problems]


def schedules_dict(found: Schedules | None) -> dict[str, Any] | None:
    """The schedules for a program."""
    if found is None:
        return None
    return {
        "schedulers": found.schedulers,
        "last_seen": found.seen,
        "problems": found.problems,
        "jobs": [
            {
                "job": job.job,
                "schedule": job.schedule,
                "timezone": job.timezone,
                "next": job.next.due if job.next else None,
                "last": _firing_dict(job.last) if job.last else None,
                "late_since": job.waiting.due if job.waiting else None,
                "missed": [_firing_dict(firing) for firing in job.missed],
            }
            for job in found.jobs
        ],
    }


def _firing_dict(firing: Firing) -> dict[str, Any]:
    return {
        "slot": firing.slot,
        "due": firing.due,
        "state": firing.state,
        "run": firing.run_id,
        "note": firing.note or None,
    }


def _name(slot: str) -> str:
    return slot.replace("T", " ")
