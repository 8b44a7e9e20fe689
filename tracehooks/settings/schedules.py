"""When a job runs: five cron fields as Unix has them, or ``every 6h``.

Weekdays are 0 to 7, 0 and 7 both Sunday (APScheduler counts from Monday). When both the day of the month and
the weekday are restricted, either may match: https://man7.org/linux/man-pages/man5/crontab.5.html.
"""

import calendar
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from tracehooks.settings.values import parse_duration

MONTHS = tuple(name.lower() for name in calendar.month_abbr)
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun")
# the longest that a leap day can be away
LONGEST_WAIT = timedelta(days=8 * 366)
SHORTEST = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Cron:
    """The minutes, hours, days, months and weekdays (0 is Sunday) at which a job is due."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    any_weekday: bool

    @property
    def every_hour(self) -> bool:
        """Whether it is due in every hour: then it goes by the time that passes, not by the clock's face."""
        return len(self.hours) == 24

    def is_day(self, day: date) -> bool:
        """Whether it is due on this day."""
        if day.month not in self.months:
            return False
        by_day, by_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return by_day and by_weekday if self.any_day or self.any_weekday else by_day or by_weekday

    def times(self, after: datetime) -> Iterator[datetime]:
        """The wall times, without zone, at which it is due from ``after`` on; ends when none are in sight."""
        day, last = after.date(), after.date() + LONGEST_WAIT
        while day <= last:
            if self.is_day(day):
                last = day + LONGEST_WAIT
                for hour in self.hours:
                    for minute in self.minutes:
                        time = datetime(day.year, day.month, day.day, hour, minute)
                        if time >= after:
                            yield time
            day += timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Every:
    """Once in every ``period``, counted from 1970, so that restarts do not move it."""

    period: timedelta


def parse_schedule(text: str) -> Cron | Every:
    """The schedule that ``text`` says. Raises ValueError that names what is wrong with it."""
    if text.strip().startswith("every "):
        period = parse_duration(text.strip().removeprefix("every "))
        if period < SHORTEST:
            raise ValueError(f"{text!r} is due more often than once a second")
        return Every(period)
    fields = text.split()
    if len(fields) != 5:
        raise ValueError(
            f"{text!r} is neither five fields (minute, hour, day, month, weekday) such as 0 2 * * *, "
            "nor an interval such as every 6h"
        )
    minutes, hours, days, months, weekdays = fields
    return Cron(
        minutes=_numbers("minute", minutes, 0, 59),
        hours=_numbers("hour", hours, 0, 23),
        days=frozenset(_numbers("day", days, 1, 31)),
        months=frozenset(_numbers("month", months, 1, 12, MONTHS)),
        weekdays=frozenset(number % 7 for number in _numbers("weekday", weekdays, 0, 7, WEEKDAYS)),
        any_day=days.startswith("*"),
        any_weekday=weekdays.startswith("*"),
    )


def _numbers(what: str, field: str, low: int, high: int, names: Sequence[str] = ()) -> tuple[int, ...]:
    found: set[int] = set()
    for part in field.lower().split(","):
        match = re.fullmatch(r"(\*|\w+)(?:-(\w+))?(?:/(\d+))?", part)
        if not match or (match[1] == "*" and match[2]):
            raise ValueError(f"{field!r} is no {what}")
        first, last = low, high
        if match[1] != "*":
            first = _number(what, match[1], low, high, names)
            last = first if match[2] is None else _number(what, match[2], low, high, names)
            last = high if match[3] and match[2] is None else last
        step = int(match[3] or 1)
        if not step or first > last:
            raise ValueError(f"{part!r} is no {what}: it counts from a smaller to a greater number")
        found.update(range(first, last + 1, step))
    return tuple(sorted(found))


def _number(what: str, text: str, low: int, high: int, names: Sequence[str]) -> int:
    number = int(text) if text.isdigit() else names.index(text) if text in names else -1
    if not low <= number <= high:
        raise ValueError(f"{text!r} is no {what}: these are {low} to {high}")
    return number
