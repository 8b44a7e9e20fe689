"""The noise night by the scheduler: the same table of drivers, once for each slot."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.jobs import quiz
from tests.jobs.scheduling import Clock, at
from tracehooks.jobs.dispatch import Dispatcher
from tracehooks.jobs.drivers import DRIVERS, scheduled_jobs
from tracehooks.jobs.timetable import Timetable
from tracehooks.settings import Settings
from tracehooks.store import Store, open_store


@pytest.fixture
def clock() -> Clock:
    return Clock(at("2026-12-01T12:00"))


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path}/store.db", clock=clock) as opened:
        yield opened


def test_noise_runs_when_it_is_due_and_once(store: Store, tmp_path: Path, clock: Clock) -> None:
    """Its run is of the moment that it was due at, whoever runs it and whenever."""
    job = {"datasets": [str(quiz.dataset(tmp_path, 2))], "repeats": 1}
    settings = Settings.model_validate(
        {"store": store.url, "agent": "tests.jobs.quiz:steady", "jobs": {"noise": job}}
    )
    assert scheduled_jobs(settings) == ["toxicity", "noise"]
    quiz.ASKED.clear()

    def act(owner: str) -> object:
        return Dispatcher(
            job="noise",
            settings=settings,
            store=store,
            timetable=Timetable("30 2 * * *", "UTC"),
            driver=DRIVERS["noise"],
            grace=settings.jobs.noise.grace,
            owner=owner,
            clock=clock,
        ).act()

    assert act("host:1:1") is None
    clock.now = at("2026-12-02T02:31")
    act("host:1:1")
    act("host:2:2")
    (run,) = store.runs.list()
    assert (run.job, run.state, run.window_start) == ("noise", "finished", at("2026-12-02T02:30"))
    assert len(quiz.ASKED) == 4


def test_noise_without_an_agent_is_not_scheduled() -> None:
    """There is nobody to ask; the scheduler says so when it starts."""
    assert scheduled_jobs(Settings()) == ["toxicity"]
    assert DRIVERS["noise"].missing(Settings()) == "no agent is set (key `agent`)"
