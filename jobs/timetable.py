"""When a job is due, in one time zone: slots of the local clock, each at one moment.

A slot stands for a wall time, and comes once: where clocks go back it is due the first time, where they skip
it, as much later as they skip. Only what is due in every hour goes by the time that passes.
"""

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

from tracehooks.records import EPOCH
from tracehooks.settings.schedules import Cron, Every, parse_schedule

DAY = timedelta(days=1)  # no clock is moved by more


@dataclass(frozen=True, slots=True, order=True)
class Slot:
    """One time at which a job is due: the moment in UTC, and the slot's name, which is the local time."""

    due: datetime
    name: str


class Timetable:
    """The slots of a schedule. Raises ValueError for a schedule or a zone that is none."""

    def __init__(self, schedule: str, zone: str) -> None:
        self._schedule = parse_schedule(schedule)
        self._zone = ZoneInfo(zone)

    def after(self, moment: datetime) -> Slot | None:
        """The first slot due after ``moment``; None when there will be none."""
        return next(self._from(moment), None)

    def between(self, after: datetime, until: datetime) -> list[Slot]:
        """The slots due after the one and not after the other moment."""
        return list(takewhile(lambda slot: slot.due <= until, self._from(after)))

    def latest(self, moment: datetime) -> Slot | None:
        """The last slot that was due at ``moment`` or before, if it was within about a year."""
        for days in (2, 32, 367):
            if slots := self.between(moment - days * DAY, moment):
                return slots[-1]
        return None

    def _from(self, moment: datetime) -> Iterator[Slot]:
        if isinstance(self._schedule, Every):
            return self._intervals(self._schedule.period, moment)
        return self._times(self._schedule, moment)

    def _intervals(self, period: timedelta, moment: datetime) -> Iterator[Slot]:
        number = (moment - EPOCH) // period
        while True:
            number += 1
            due = EPOCH + number * period
            yield Slot(due, f"{due:%FT%T}Z")

    def _times(self, cron: Cron, moment: datetime) -> Iterator[Slot]:
        waiting: list[Slot] = []  # the order of wall times is that of moments, but around a jump of the clock
        for time in cron.times(self._wall(moment) - DAY):
            for slot in self._slots(cron, time):
                if slot.due > moment:
                    insort(waiting, slot)
            while waiting and waiting[0].due < self._moment(time) - DAY:
                yield waiting.pop(0)
        yield from waiting

    def _slots(self, cron: Cron, time: datetime) -> list[Slot]:
        """One slot; for what is due every hour one for each time that the clock shows ``time``, or none."""
        if not cron.every_hour:
            return [Slot(self._moment(time), f"{time:%FT%H:%M}")]
        moments = {self._moment(time, fold) for fold in (0, 1)}
        shown = [each for each in sorted(moments) if self._wall(each) == time]
        return [Slot(each, each.astimezone(self._zone).isoformat()) for each in shown]

    def _moment(self, time: datetime, fold: int = 0) -> datetime:
        return time.replace(tzinfo=self._zone, fold=fold).astimezone(UTC)

    def _wall(self, moment: datetime) -> datetime:
        return moment.astimezone(self._zone).replace(tzinfo=None)
