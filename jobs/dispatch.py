"""What a scheduler does about one job: find out what is due, and see it to its end, once among many.

All that must survive a restart is in the store: which slots were due, which window each stands for, and what
came of it. So it does not matter who asks how often, when, or how many of them.
"""

import contextvars
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from tracehooks.jobs.belonging import check_project
from tracehooks.jobs.drivers import Driver, Order
from tracehooks.jobs.keeper import UNDER_WAY
from tracehooks.jobs.timetable import Slot, Timetable
from tracehooks.jobs.windows import WRONG_CLOCK, ResolvedWindow
from tracehooks.scoring import Window
from tracehooks.scoring.coordinator import is_dead
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store
from tracehooks.store.firings import Firing

logger = logging.getLogger("tracehooks")

NOTICEABLE = timedelta(minutes=1)
MISSED_AT_ONCE = 50  # slots that are written down when many were missed

Told = Callable[[RunRecord], None]
ToldOfMissed = Callable[[str, Sequence[Firing]], None]


@dataclass(kw_only=True)
class Dispatcher:
    """One job on one store. ``ended`` is told of each run at its end, ``missed`` of what nobody acted upon.

    ``grace`` is how late a run may begin.
    """

    job: str
    settings: Settings
    store: Store
    timetable: Timetable
    driver: Driver
    grace: timedelta
    owner: str
    clock: Callable[[], datetime]
    halted: Callable[[], bool] = lambda: False
    ended: Told = lambda run: None
    missed: ToldOfMissed = lambda job, firings: None

    def __post_init__(self) -> None:
        self._quiet: tuple[datetime, datetime] | None = None

    def is_due(self) -> bool:
        """Whether :meth:`act` may have something to do."""
        if self._quiet is None:
            return True
        since, until = self._quiet
        return not since <= self.clock() < until

    def act(self) -> RunRecord | None:
        """Do what is due. Returns the run that came of it; None when nothing did.

        Raises ConfigurationError when the store is another project's.
        """
        if not self.is_due():
            return None
        check_project(self.store, self.settings.project)  # whose due times are those noted there?
        self._quiet = None
        firing = self._firing(self.clock())
        if firing is None or firing.state != "open":
            self._rest()
            return None
        try:
            run = contextvars.Context().run(self.driver.drive, self._order(firing))
        except Exception as error:
            run = self._failed(firing, error)
        if run is None or run.state in UNDER_WAY:
            return run  # another is at it, or it was told to stop: whoever looks next goes on
        self.store.firings.close(firing, "done", run_id=run.id)
        self._rest()
        self.ended(run)
        return run

    def _firing(self, now: datetime) -> Firing | None:
        """The firing to be seen to its end; None when there is none, or an earlier one is under way."""
        last = self._last(now)
        if last is None:
            self._begin(now)
            return None
        slots = self.timetable.between(last.due, now)
        if not slots:
            return last
        run = self._run_of(last)
        if last.state == "open" and run is not None and (self._is_held(run) or run.waiting):
            return last  # one at a time; what came due meanwhile is looked at when it has ended
        if last.state == "open":
            self.store.firings.close(last, "missed", note="it was not brought to its end")
        return self._note(slots, now, run, [last] if last.state == "open" else [])

    def _rest(self) -> None:
        """Nothing can be due before the next slot: until then the store is not asked."""
        last = self.store.firings.latest(self.job)
        if last is not None and last.state != "open":
            following = self.timetable.after(last.due)
            never = last.noted_at + timedelta(days=366)
            self._quiet = last.noted_at, following.due if following is not None else never

    def _last(self, now: datetime) -> Firing | None:
        last = self.store.firings.latest(self.job)
        if last is not None and last.noted_at > now + WRONG_CLOCK:
            logger.warning("%s: forgetting what was noted by a clock that was ahead", self.job)
            self.store.firings.forget_noted_after(self.job, now + WRONG_CLOCK)
            last = self.store.firings.latest(self.job)
        return last

    def _begin(self, now: datetime) -> None:
        """The first look ever at this job: what was due before is not ours to run."""
        slot = self.timetable.latest(now)
        if slot is not None:
            self._store_slots([slot], "done", now, "before the first start of a scheduler")

    def _note(
        self, slots: list[Slot], now: datetime, run: RunRecord | None, lost: list[Firing]
    ) -> Firing | None:
        """Write down what came due since: the newest is to be run, unless it is too late even for that."""
        *earlier, newest = slots
        busy_until = run.ended if run is not None else None
        covered = [slot for slot in earlier if busy_until is not None and slot.due <= busy_until]
        idle = [slot for slot in earlier if slot not in covered]
        if now - newest.due > self.grace:
            idle.append(newest)
        self._store_slots(covered[-MISSED_AT_ONCE:], "done", now, "an earlier run was still under way")
        lost += self._store_slots(idle[-MISSED_AT_ONCE:], "missed", now, "nothing ran the job in time")
        if lost:
            self.missed(self.job, lost)
        return None if newest in idle else self._open(newest, now)

    def _open(self, slot: Slot, now: datetime) -> Firing | None:
        resolved = self.driver.window(self.settings, self.store, slot.due)
        if resolved.moves and resolved.window.start == resolved.window.end:
            self._store_slots([slot], "done", now, "its calls were covered already")
            return None
        late = now - slot.due
        note = f"late {late // timedelta(minutes=1)} min" if late >= NOTICEABLE else ""
        firing = Firing(
            job=self.job,
            slot=slot.name,
            due=slot.due,
            window=(resolved.window.start, resolved.window.end),
            noted_at=now,
            note=note,
        )
        return self.store.firings.note([firing])[0]

    def _store_slots(self, slots: Sequence[Slot], state: str, now: datetime, note: str) -> list[Firing]:
        same = {"job": self.job, "state": state, "noted_at": now, "note": note}
        firings = [Firing(slot=slot.name, due=slot.due, **same) for slot in slots]  # type: ignore[arg-type]
        return self.store.firings.note(firings) if firings else []

    def _order(self, firing: Firing) -> Order:
        return Order(
            settings=self.settings,
            store=self.store,
            window=self._window(firing),
            owner=self.owner,
            clock=self.clock,
            halted=self.halted,
        )

    def _window(self, firing: Firing) -> ResolvedWindow:
        """The window that was settled when the firing was noted, with what else is known of it."""
        assert firing.window is not None
        resolved = self.driver.window(self.settings, self.store, firing.due)
        note = "; ".join(part for part in (resolved.note, firing.note) if part)
        return replace(resolved, window=Window(*firing.window), note=note)

    def _run_of(self, firing: Firing) -> RunRecord | None:
        if firing.window is None:
            return None
        return self.store.runs.of_window(self.job, *firing.window)

    def _is_held(self, run: RunRecord) -> bool:
        alive = run.owner is not None and not run.lapsed and not is_dead(run.owner)
        return run.state == "running" and alive and run.owner != self.owner

    def _failed(self, firing: Firing, error: Exception) -> RunRecord:
        """The record of a run that could not even begin, or broke off; it says why."""
        reason = f"error: {type(error).__name__}: {error}"
        logger.error("%s failed: %s: %s", self.job, type(error).__name__, error)
        window = self._window(firing)
        plan = {
            "moves": window.moves,
            "note": window.note,
            "lookback_seconds": window.lookback.total_seconds(),
        }
        run = self.store.runs.open(self.job, *window.window, plan=plan)
        if run.state not in UNDER_WAY:
            return run
        return self.store.runs.update(run.id, state="failed", ended=self.clock(), reasons=(reason,))
