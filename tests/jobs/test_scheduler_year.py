"""A year of nights with a fake clock, by two schedulers that sleep, are deployed anew, and look whenever."""

import random
from datetime import timedelta

import pytest

from tests.jobs.scheduling import Bench, Clock, at
from tests.stored import agent_span
from tracehooks.store import open_store

ZONES = ("America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe")


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("time", ["01:30", "02:30"])
def test_a_year_of_nights(zone: str, time: str) -> None:
    """agronholm/apscheduler#606, agronholm/apscheduler#115, agronholm/apscheduler#1036.

    One run a local date, windows that tile, none missed or doubled: two schedulers look at drawn times; now
    and then they sleep for hours, are started anew, or the clock steps back by minutes.
    """
    rng = random.Random(f"{zone} {time}")
    clock = Clock(at("2025-12-30T12:00"))
    with open_store("memory", clock=clock) as store:
        store.spans.add([agent_span(1, start=clock.now)])
        bench = Bench(store, clock, schedule=f"{int(time[3:])} {int(time[:2])} * * *", zone=zone)
        nights = [bench.dispatcher(owner) for owner in ("host-a:1:1", "host-b:1:1")]
        while clock.now < at("2027-01-01T12:00"):
            clock.pass_(minutes=rng.choice([7, 500, 700]) + rng.random())
            for night in rng.sample(nights, rng.choice([1, 1, 2])):
                night.act()
            if rng.random() < 0.05:
                nights = [bench.dispatcher(owner) for owner in (f"host-a:{rng.random()}:1", "host-b:2:1")]
            if rng.random() < 0.05:
                clock.pass_(minutes=-9)
        firings = [one for one in store.firings.list("toxicity", limit=1000) if one.window]
        _one_run_a_date(firings, bench)


def _one_run_a_date(firings: list, bench: Bench) -> None:  # type: ignore[type-arg]
    dates = sorted(firing.slot[:10] for firing in firings)
    first = at("2026-01-01").date()
    wanted = [f"{first + timedelta(days=day)}" for day in range(365)]
    assert [date for date in dates if date.startswith("2026")] == wanted
    assert bench.missed == []
    assert all(firing.state == "done" for firing in firings)
    assert len({firing.run_id for firing in firings}) == len(bench.runs) == len(firings)
    windows = sorted(bench.quick.windows)
    assert len(windows) == len(firings)
    assert [start for start, _ in windows[1:]] == [end for _, end in windows[:-1]]
    assert {round((end - start) / timedelta(minutes=30)) for start, end in windows[1:]} <= {
        46,
        47,
        48,
        49,
        50,
    }
