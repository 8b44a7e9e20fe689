"""Parts for the tests of schedulers: a clock to set, a driver that judges nothing, a dispatcher of both."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tracehooks.jobs.dispatch import Dispatcher
from tracehooks.jobs.drivers import DRIVERS, Driver, Order
from tracehooks.jobs.timetable import Timetable
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store
from tracehooks.store.firings import Firing

JOB = "toxicity"


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@dataclass
class Clock:
    now: datetime

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, **more: float) -> None:
        self.now += timedelta(**more)


@dataclass
class Quick:
    """Drives a run to its end at once; ``outcomes`` are the states of the next runs, else finished."""

    windows: list[tuple[datetime, datetime]] = field(default_factory=list)
    outcomes: list[Any] = field(default_factory=list)
    takes: timedelta = timedelta(0)

    def drive(self, order: Order) -> RunRecord | None:
        window = order.window
        plan = {"moves": window.moves, "note": window.note}
        run = order.store.runs.open(JOB, *window.window, plan=plan)
        if run.owner not in (None, order.owner) and not run.lapsed and run.state == "running":
            return None
        self.windows.append(window.window)
        outcome = self.outcomes.pop(0) if self.outcomes else "finished"
        if isinstance(outcome, Exception):
            raise outcome
        ended = order.clock() + self.takes
        report = {"covered": outcome == "finished"}
        result: dict[str, Any] = {"state": outcome, "verdict": "pass", "report": report, "ended": ended}
        return order.store.runs.update(run.id, owner=order.owner, **result)


@dataclass
class Bench:
    """A dispatcher on a store, and what it said."""

    store: Store
    clock: Clock
    schedule: str = "0 2 * * *"
    zone: str = "UTC"
    job: dict[str, Any] = field(default_factory=dict)
    quick: Quick = field(default_factory=Quick)
    runs: list[RunRecord] = field(default_factory=list)
    missed: list[Firing] = field(default_factory=list)

    def dispatcher(self, owner: str = "host:1:1", drive: Callable[[Order], Any] | None = None) -> Dispatcher:
        settings = Settings.model_validate({"project": "shop", "jobs": {JOB: {"settle": "10m", **self.job}}})
        return Dispatcher(
            job=JOB,
            settings=settings,
            store=self.store,
            timetable=Timetable(self.schedule, self.zone),
            driver=Driver(drive or self.quick.drive, DRIVERS[JOB].window),
            grace=settings.jobs.toxicity.grace,
            owner=owner,
            clock=self.clock,
            ended=self.runs.append,
            missed=self._missed,
        )

    def _missed(self, job: str, firings: Sequence[Firing]) -> None:
        self.missed.extend(firings)
