"""When a job is due: Unix cron in a time zone, one slot a wall time whatever the clock does."""

from datetime import UTC, datetime, timedelta

import pytest

from tracehooks.jobs.timetable import Timetable

DAY = timedelta(days=1)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def due(schedule: str, start: str, count: int, zone: str = "UTC") -> list[str]:
    found, moment = [], at(start)
    for _ in range(count):
        slot = Timetable(schedule, zone).after(moment)
        assert slot is not None
        moment = slot.due
        found.append(f"{moment:%m-%d %H:%M}")
    return found


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("0 2 * * *", ["01-01 02:00", "01-02 02:00"]),
        ("*/20 3 * * *", ["01-01 03:00", "01-01 03:20"]),
        ("5,50 22-23 * * *", ["01-01 22:05", "01-01 22:50"]),
        ("0 2 * * 0", ["01-03 02:00", "01-10 02:00"]),
        ("0 2 * * 7", ["01-03 02:00", "01-10 02:00"]),
        ("0 2 * * 1-5", ["01-01 02:00", "01-04 02:00"]),
        ("0 2 * * sat,SUN", ["01-02 02:00", "01-03 02:00"]),
        ("0 2 1,15 * mon", ["01-01 02:00", "01-04 02:00"]),
        ("0 2 31 */2 *", ["01-31 02:00", "03-31 02:00"]),
        ("0 2 29 feb *", ["02-29 02:00", "02-29 02:00"]),
        ("every 6h", ["01-01 06:00", "01-01 12:00"]),
        ("every 90m", ["01-01 01:30", "01-01 03:00"]),
    ],
)
def test_fields_mean_what_unix_means(schedule: str, expected: list[str]) -> None:
    """0 and 7 are Sunday, day and weekday together mean either. 2027 begins with a Friday."""
    assert due(schedule, "2027-01-01", 2) == expected


@pytest.mark.parametrize(
    "schedule",
    [
        *("", "every", "every 0s", "every day", "@daily", "a b c d e"),
        *("0 2 * *", "0 2 * * * *", "60 2 * * *", "0 24 * * *", "0 2 0 * *", "0 2 * 13 *", "0 2 * * 8"),
        *("0 5-2 * * *", "*/0 2 * * *", "0 2 * * monday"),
    ],
)
def test_what_is_no_schedule_is_refused(schedule: str) -> None:
    """None is taken for something else, and none is silently never due."""
    with pytest.raises(ValueError, match=r".+"):
        Timetable(schedule, "UTC")


def test_a_day_that_never_comes_has_no_slot() -> None:
    """A schedule may be well formed and never be due; `doctor` tells."""
    assert Timetable("0 0 30 2 *", "UTC").after(at("2027-01-01")) is None
    assert Timetable("0 0 30 2 *", "UTC").latest(at("2027-01-01")) is None


@pytest.mark.parametrize(
    ("zone", "schedule", "start", "expected"),
    [
        # clocks go back at 02:00: 01:30 is shown twice
        ("America/New_York", "30 1 * * *", "2026-10-31T12:00", ["11-01 05:30", "11-02 06:30"]),
        # clocks skip 02:00 to 03:00: 02:30 is due an hour later, at 03:30
        ("America/New_York", "30 2 * * *", "2026-03-07T12:00", ["03-08 07:30", "03-09 06:30"]),
        ("Europe/Berlin", "30 2 * * *", "2026-10-24T12:00", ["10-25 00:30", "10-26 01:30"]),
        ("Europe/Berlin", "30 2 * * *", "2026-03-28T12:00", ["03-29 01:30", "03-30 00:30"]),
        # half an hour, at 02:00
        ("Australia/Lord_Howe", "30 1 * * *", "2026-04-04T00:00", ["04-04 14:30", "04-05 15:00"]),
        ("Australia/Lord_Howe", "15 2 * * *", "2026-10-03T00:00", ["10-03 15:45", "10-04 15:15"]),
        # the day that Samoa left out
        ("Pacific/Apia", "0 2 * * *", "2011-12-29T00:00", ["12-29 12:00", "12-30 12:00"]),
        # by the time that passes: neither a gap nor a double hour
        ("Europe/Berlin", "30 * * * *", "2026-10-24T23:45", ["10-25 00:30", "10-25 01:30", "10-25 02:30"]),
        ("Europe/Berlin", "30 * * * *", "2026-03-28T23:45", ["03-29 00:30", "03-29 01:30"]),
    ],
)
def test_a_slot_comes_once_where_clocks_jump(
    zone: str, schedule: str, start: str, expected: list[str]
) -> None:
    """agronholm/apscheduler#606, agronholm/apscheduler#115, agronholm/apscheduler#1036."""
    assert due(schedule, start, len(expected), zone) == expected


@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe"])
@pytest.mark.parametrize("time", ["01:30", "02:30"])
def test_a_year_has_a_slot_for_each_local_date(zone: str, time: str) -> None:
    """In order, each once, whichever way they are asked for."""
    minute, hour = int(time[3:]), int(time[:2])
    table = Timetable(f"{minute} {hour} * * *", zone)
    slots = table.between(at("2026-01-01"), at("2027-01-01"))
    dates = [slot.name for slot in slots]
    assert len(dates) == len(set(dates)) == 365
    assert [slot.due for slot in slots] == sorted({slot.due for slot in slots})
    for slot, following in zip(slots[::40], slots[1::40], strict=False):
        assert table.after(slot.due) == following
        assert table.latest(following.due - timedelta(seconds=1)) == slot
        assert table.latest(following.due) == following
