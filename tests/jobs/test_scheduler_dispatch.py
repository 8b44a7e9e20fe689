"""What a scheduler does about a job whatever happened before: late, missed, cut short, failed, doubled."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.scheduling import Bench, Clock, at
from tests.stored import agent_span
from tracehooks.store import Store, open_store

DAY = timedelta(days=1)


@pytest.fixture
def clock() -> Clock:
    return Clock(at("2026-12-01T12:00"))


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path}/store.db", clock=clock) as opened:
        yield opened


@pytest.fixture
def bench(store: Store, clock: Clock) -> Bench:
    """A scheduler that has been there since noon; the night is due at two."""
    store.spans.add([agent_span(1, start=clock.now)])
    made = Bench(store, clock)
    assert made.dispatcher().act() is None
    return made


def states(bench: Bench) -> list[tuple[str, str, str]]:
    return [(one.slot[5:10], one.state, one.note) for one in bench.store.firings.list("toxicity")]


def test_what_was_due_before_the_first_start_is_not_run(bench: Bench, clock: Clock) -> None:
    """A scheduler that is set up at noon does not begin with last night."""
    clock.pass_(hours=13)
    assert bench.dispatcher().act() is None
    assert states(bench) == [("12-01", "done", "before the first start of a scheduler")]
    clock.pass_(hours=1)
    run = bench.dispatcher().act()
    assert run is not None
    assert run.window_end == at("2026-12-02T01:50")


def test_a_host_that_slept_runs_once_on_wake_and_says_how_late(bench: Bench, clock: Clock) -> None:
    """agronholm/apscheduler#292, rfsbraz/deleterr#292: asleep from 01:50 to 03:20, the job at 02:00."""
    clock.now = at("2026-12-02T03:20")
    night = bench.dispatcher()
    assert night.is_due()
    run = night.act()
    assert not night.is_due()
    assert night.act() is None
    assert run is not None
    assert run.plan["note"] == "late 80 min"
    assert run.window_end == at("2026-12-02T01:50")
    assert len(bench.runs) == 1


def test_beyond_its_grace_a_night_is_missed_and_the_next_covers_it(bench: Bench, clock: Clock) -> None:
    """agronholm/apscheduler#292: a record, not only a log line; the calls are not lost."""
    clock.now = at("2026-12-02T02:00")
    first = bench.dispatcher().act()
    clock.now = at("2026-12-03T20:00")
    assert bench.dispatcher().act() is None
    assert [firing.slot for firing in bench.missed] == ["2026-12-03T02:00"]
    clock.now = at("2026-12-04T02:00")
    following = bench.dispatcher().act()
    assert first is not None
    assert following is not None
    assert following.window_start == first.window_end


def test_days_down_are_one_run_and_its_bound_is_told(bench: Bench, clock: Clock) -> None:
    """Ten nights missed: one run since the last success, at most max_window long, and what is left out."""
    clock.now = at("2026-12-02T02:00")
    first = bench.dispatcher().act()
    clock.now = at("2026-12-12T02:30")
    run = bench.dispatcher().act()
    assert first is not None
    assert run is not None
    assert len(bench.missed) == 9
    assert run.window_end - run.window_start == 7 * DAY
    assert "calls from 2026-12-02 01:50:00Z to 2026-12-05 01:50:00Z are left out" in run.plan["note"]
    assert "late 30 min" in run.plan["note"]
    assert bench.dispatcher().act() is None


def test_a_failed_night_does_not_move_the_window(bench: Bench, clock: Clock) -> None:
    """The next night covers it, and the failed one stands as failed."""
    bench.quick.outcomes = ["failed", "timed_out"]
    for day in (2, 3, 4):
        clock.now = at(f"2026-12-0{day}T02:00")
        bench.dispatcher().act()
    assert [run.state for run in bench.runs] == ["failed", "timed_out", "finished"]
    assert len({start for start, _ in bench.quick.windows}) == 1
    assert bench.missed == []


def test_an_error_makes_the_run_failed_and_the_next_night_comes(bench: Bench, clock: Clock) -> None:
    """agronholm/apscheduler#652: type and text in the record, told once, still scheduled."""
    bench.quick.outcomes = [RuntimeError("no judge")]
    clock.now = at("2026-12-02T02:00")
    night = bench.dispatcher()
    night.act()
    night.act()
    (run,) = bench.runs
    assert (run.state, run.reasons) == ("failed", ("error: RuntimeError: no judge",))
    clock.pass_(days=1)
    following = night.act()
    assert following is not None
    assert following.state == "finished"


def test_an_error_before_a_run_exists_is_recorded_too(bench: Bench, clock: Clock) -> None:
    """agronholm/apscheduler#652: a judge that cannot even be made."""

    def broken(order: Any) -> Any:
        raise ValueError("judge.model is not known")

    clock.now = at("2026-12-02T02:00")
    run = bench.dispatcher(drive=broken).act()
    assert run is not None
    assert (run.state, run.reasons) == ("failed", ("error: ValueError: judge.model is not known",))
    assert bench.runs == [run]


def test_an_interrupted_night_is_gone_on_with_by_whoever_looks_next(bench: Bench, clock: Clock) -> None:
    """A deploy in the middle of the night: the same run, the same window."""
    bench.quick.outcomes = ["interrupted"]
    clock.now = at("2026-12-02T02:00")
    stopped = bench.dispatcher().act()
    clock.pass_(minutes=3)
    run = bench.dispatcher("host:2:2").act()
    assert stopped is not None
    assert run is not None
    assert (run.id, run.state) == (stopped.id, "finished")
    assert bench.runs == [run]


def test_while_one_works_the_others_stand_by_and_take_over_when_it_is_gone(
    bench: Bench, clock: Clock, store: Store
) -> None:
    """agronholm/apscheduler#766, agronholm/apscheduler#160: one run; after the holder's lease another's."""
    clock.now = at("2026-12-02T02:00")

    def dies(order: Any) -> Any:
        window = order.window.window
        run = store.runs.open("toxicity", window.start, window.end, {})
        store.runs.take(run.id, order.owner, timedelta(seconds=60))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bench.dispatcher("other-host:1:1", drive=dies).act()
    clock.pass_(seconds=30)
    assert bench.dispatcher("host:2:2").act() is None
    clock.pass_(seconds=31)
    run = bench.dispatcher("host:2:2").act()
    assert run is not None
    assert (run.state, run.owner) == ("finished", "host:2:2")
    assert len(store.runs.list()) == len(bench.runs) == 1


def test_a_run_that_takes_longer_than_its_period_is_not_overtaken(store: Store, clock: Clock) -> None:
    """One at a time: what came due meanwhile is run once, and nothing counts as missed."""
    bench = Bench(store, clock, schedule="every 10m")
    bench.dispatcher().act()
    bench.quick.takes = timedelta(minutes=35)
    clock.pass_(minutes=10)
    bench.dispatcher().act()
    clock.pass_(minutes=36)
    run = bench.dispatcher().act()
    assert run is not None
    assert (len(bench.runs), bench.missed) == (2, [])
    assert run.window_start == bench.runs[0].window_end


def test_a_manual_run_that_covers_a_night_makes_it_needless(bench: Bench, clock: Clock, store: Store) -> None:
    """Somebody was quicker than the schedule: nothing is judged twice, and no window is empty."""
    clock.now = at("2026-12-02T03:00")
    run = store.runs.open(
        "toxicity", clock.now - DAY, clock.now - timedelta(minutes=10), plan={"moves": True}
    )
    store.runs.update(run.id, state="finished", report={"covered": True})
    assert bench.dispatcher().act() is None
    assert states(bench)[0] == ("12-02", "done", "its calls were covered already")


def test_a_clock_that_was_ahead_is_forgotten(bench: Bench, clock: Clock) -> None:
    """Set to next week and back: the nights between are run, from where the last true one ended."""
    clock.now = at("2026-12-02T02:00")
    true = bench.dispatcher().act()
    clock.now = at("2026-12-09T02:00")
    bench.dispatcher().act()
    clock.now = at("2026-12-03T02:00")
    run = bench.dispatcher().act()
    assert true is not None
    assert run is not None
    assert (run.window_start, run.window_end) == (true.window_end, at("2026-12-03T01:50"))
