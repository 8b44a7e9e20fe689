"""Schedulers and workers on one store, killed at drawn times: the night completes once."""

from pathlib import Path

import pytest

from tests.jobs.swarm import CONCURRENCY, drawn_seed, swarm

ITEMS = 60


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_killed_schedulers_and_workers_complete_the_night_once(
    tmp_path: Path, request: pytest.FixtureRequest, database: str
) -> None:
    """agronholm/apscheduler#160, agronholm/apscheduler#766: each call is judged once, or was in flight."""
    outcome = swarm(
        tmp_path,
        request.getfixturevalue(f"{database}_url"),
        items=ITEMS,
        kinds=["schedule", "schedule", "help", "other"],
        kills=3,
        delay=0.3,
        seed=drawn_seed(),
    )
    assert outcome.scores == [1] * ITEMS
    assert ITEMS <= outcome.calls <= ITEMS + outcome.kills * CONCURRENCY
    assert [run.state for run in outcome.runs] == ["finished", "finished"]
    night = next(firing for firing in outcome.firings if firing.window)
    assert (night.state, night.run_id in {run.id for run in outcome.runs}) == ("done", True)
    for run in outcome.runs:
        counts = run.counts
        assert counts["discovered"] == counts["already_scored"] + counts["planned"] == ITEMS
        assert counts["planned"] == counts["scored"]
        assert run.report["scored"] == ITEMS
