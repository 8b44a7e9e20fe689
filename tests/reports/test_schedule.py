"""What `status` says of schedules: what runs next, what is late, what was missed, and who looks after it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.reports.nights import drawn
from tracehooks.reports.status import StatusReport, status_dict, status_renderable, status_report
from tracehooks.settings import Settings
from tracehooks.store import Store, open_store
from tracehooks.store.firings import Firing

NOW = datetime(2026, 12, 2, 9, tzinfo=UTC)
DAY = timedelta(days=1)
SETTINGS = Settings.model_validate(
    {"jobs": {"toxicity": {"timezone": "Europe/Berlin"}, "noise": {"schedule": None}}}
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store that a scheduler looked after at nine."""
    with open_store(f"sqlite:///{tmp_path}/store.db", clock=lambda: NOW) as opened:
        opened.schedulers.beat("host:1:1")
        yield opened


def ended(store: Store, day: int, verdict: str = "pass") -> None:
    """The night of the day, run to its end."""
    due = datetime(2026, 12, day, 1, tzinfo=UTC)
    run = store.runs.open("toxicity", due - DAY, due, {})
    store.runs.update(run.id, state="finished", verdict=verdict, started=due, ended=due)
    store.firings.note(
        [
            Firing(
                job="toxicity",
                slot=f"2026-12-0{day}T02:00",
                due=due,
                state="done",
                run_id=run.id,
                noted_at=due,
            )
        ]
    )


def missed(store: Store, day: int) -> None:
    due = datetime(2026, 12, day, 1, tzinfo=UTC)
    store.firings.note(
        [Firing(job="toxicity", slot=f"2026-12-0{day}T02:00", due=due, state="missed", noted_at=due)]
    )


def looked(store: Store, now: datetime = NOW) -> StatusReport:
    return status_report(store, SETTINGS, stored=True, now=now)


def test_a_night_that_ran_is_well_and_the_next_is_named(store: Store) -> None:
    """In the schedule's zone and in UTC."""
    ended(store, 2)
    status = looked(store)
    assert (status.exit_code, status.problems) == (0, [])
    text = drawn(status_renderable(status, 100))
    assert "toxicity: 0 2 * * * Europe/Berlin, next 2026-12-03 01:00 UTC, in 16 h" in text
    assert "1 process running" in text
    (job,) = status_dict(status)["schedules"]["jobs"]
    assert job["last"]["state"] == "done"


def test_a_missed_night_is_undecided_until_one_runs(store: Store) -> None:
    """agronholm/apscheduler#292, rfsbraz/deleterr#292: visible in status and in its exit code."""
    ended(store, 1)
    missed(store, 2)
    status = looked(store)
    assert status.exit_code == 3
    assert status.problems == ["toxicity was missed 1 time: 2026-12-02 02:00"]
    ended(store, 3)
    assert looked(store, NOW + DAY).exit_code == 0


def test_a_night_that_nobody_began_is_late(store: Store) -> None:
    """The scheduler is gone, and nothing else would tell."""
    ended(store, 1)
    status = looked(store)
    assert status.exit_code == 3
    assert status.problems == ["toxicity is late: it was due at 2026-12-02 01:00 UTC"]
    assert "none is running; one was last seen" in drawn(status_renderable(looked(store, NOW + DAY), 100))
    ended(store, 2)
    assert looked(store).problems == []


@pytest.mark.parametrize(("state", "problems"), [("running", 0), ("interrupted", 1)])
def test_a_night_that_was_begun_and_left_is_late(store: Store, state: str, problems: int) -> None:
    """One that somebody works on is not."""
    ended(store, 1)
    due = datetime(2026, 12, 2, 1, tzinfo=UTC)
    store.firings.note(
        [Firing(job="toxicity", slot="2026-12-02T02:00", due=due, window=(due - DAY, due), noted_at=due)]
    )
    run = store.runs.open("toxicity", due - DAY, due, {})
    store.runs.take(run.id, "elsewhere:1:1", timedelta(minutes=1))
    store.runs.update(run.id, state=state)
    assert len(looked(store).problems) == problems


@pytest.mark.parametrize(("hours", "problems"), [(9, 0), (6, 1)])
def test_a_night_that_waits_for_its_batch_is_late_only_when_that_is_due(
    store: Store, hours: int, problems: int
) -> None:
    """Nobody works on it, and nobody has to."""
    ended(store, 1)
    due = datetime(2026, 12, 2, 1, tzinfo=UTC)
    store.firings.note(
        [Firing(job="toxicity", slot="2026-12-02T02:00", due=due, window=(due - DAY, due), noted_at=due)]
    )
    run = store.runs.open("toxicity", due - DAY, due, {})
    until = due + timedelta(hours=hours)
    store.runs.update(
        run.id, state="interrupted", report={"batch": {"waiting": True, "due": until.isoformat()}}
    )
    assert len(looked(store).problems) == problems
    assert status_dict(looked(store))["runs"][0]["state"] == "waiting"


def test_what_waits_and_what_is_degraded_is_said(store: Store) -> None:
    """Not an error by itself, but not hidden either."""
    from tracehooks.store.notices import Notice

    ended(store, 2)
    store.runs.update(store.runs.list()[0].id, report={"degraded": True})
    store.notices.add([Notice(id="x", job="toxicity", kind="degraded", channel="webhook 1", payload={})])
    status = looked(store)
    document = status_dict(status)
    assert (document["degraded"], document["notices"], document["running"]) == (
        ["toxicity"],
        {"pending": 1},
        [],
    )
    text = drawn(status_renderable(status, 100))
    assert "could not score all of its calls" in text
    assert "1 pending" in text
