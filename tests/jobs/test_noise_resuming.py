"""A noise night that is killed, interrupted or out of time: it goes on, and nothing is asked twice."""

import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.jobs import quiz
from tests.jobs.quiz import Scripted, check_sums, dataset, night
from tracehooks.errors import ConfigurationError
from tracehooks.jobs.noise import night_for
from tracehooks.records import AgentCall, Score, Verdict
from tracehooks.store import Store, open_store

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.usefixtures("asked_anew")


def test_killed_after_some_answers_and_resumed_nothing_is_asked_twice(tmp_path: Path) -> None:
    """kill -9 after the seventh of twenty answers; then each was asked once, and every row is there."""
    dataset(tmp_path)
    command = [sys.executable, "-m", "tests.jobs.noise_process", str(tmp_path)]
    killed = subprocess.run([*command, "run", "kill-at", "7"], cwd=ROOT, timeout=90)
    assert killed.returncode == -9
    assert len((tmp_path / "asked.txt").read_text().splitlines()) == 7
    assert subprocess.run([*command, "resume"], cwd=ROOT, timeout=90).returncode == 0
    asked = Counter((tmp_path / "asked.txt").read_text().splitlines())
    assert (asked.total(), set(asked.values())) == (20, {2})  # each variant, two repeats
    with open_store(f"sqlite:///{tmp_path}/store.db") as store:
        (run,) = store.runs.list("noise")
        assert (run.state, run.verdict, run.counts["scored"]) == ("finished", Verdict.PASS, 20)
        check_sums(run)
        assert store.replays.owners(run.id) == []


class Stopping(Scripted):
    """Somebody presses Ctrl-C at the third answer."""

    async def score(self, call: AgentCall) -> Score:
        if len(self.seen) >= 3:
            raise KeyboardInterrupt
        return await super().score(call)


def test_interrupted_while_judging_it_goes_on_without_asking(store: Store, tmp_path: Path) -> None:
    """The answers are there, and so are the scores that were made."""
    dataset(tmp_path)
    one = night(store, tmp_path, scorer=Stopping())
    with pytest.raises(KeyboardInterrupt):
        one.run()
    (run,) = store.runs.list("noise")
    assert (run.state, len(quiz.ASKED)) == ("interrupted", 20)
    done = night_for(run, settings=quiz.settings(tmp_path), store=store, scorer=Scripted()).resume(run)
    assert (done.state, done.verdict, len(quiz.ASKED)) == ("finished", Verdict.PASS, 20)
    assert done.counts["scored"] == 20


def test_a_night_is_brought_to_its_end_for_its_moment_once(store: Store, tmp_path: Path) -> None:
    """As a scheduler does: the same moment is the same run; halted before it began it goes on later."""
    dataset(tmp_path)
    moment = datetime(2026, 11, 30, 2, 30, tzinfo=UTC)
    halted = night(store, tmp_path, halted=lambda: True).attempt(moment)
    assert halted is not None
    assert (halted.state, quiz.ASKED) == ("interrupted", [])
    done = night(store, tmp_path).attempt(moment)
    again = night(store, tmp_path).attempt(moment)
    assert done is not None
    assert (done.id, done.state, done.verdict) == (halted.id, "finished", Verdict.PASS)
    assert (again, len(quiz.ASKED)) == (done, 20)


def test_a_run_that_another_process_works_on_is_left_to_it(store: Store, tmp_path: Path) -> None:
    """Whoever is alive and holds it; the attempt waits for nobody, and resuming says so."""
    dataset(tmp_path)
    moment = datetime(2026, 11, 30, 2, 30, tzinfo=UTC)
    run = store.runs.open(
        "noise", moment, moment, plan=night(store, tmp_path, halted=lambda: True).run().plan
    )
    assert store.runs.take(run.id, "elsewhere:1:1", timedelta(minutes=1)) is not None
    assert night(store, tmp_path).attempt(moment) is None
    with pytest.raises(ConfigurationError, match="is being worked on by another process"):
        night(store, tmp_path).resume(run)


def test_a_night_whose_time_is_up_stops_and_can_go_on(store: Store, tmp_path: Path) -> None:
    """What was not asked is not attempted, never a number."""
    dataset(tmp_path)
    run = night(store, tmp_path, job={"time_limit": 0.000001}).run()
    assert (run.state, run.verdict) == ("failed", Verdict.INCONCLUSIVE)
    assert (run.counts["not_attempted"], run.counts["unscored"]) == (20, {"not_attempted": 20})
    check_sums(run)


def test_a_run_whose_dataset_has_changed_cannot_go_on(store: Store, tmp_path: Path) -> None:
    """Half of it would be about other questions: one sentence, and a new run."""
    dataset(tmp_path)
    run = night(store, tmp_path).run()
    dataset(tmp_path, 4)
    with pytest.raises(ConfigurationError, match="its datasets has changed since it began"):
        night_for(run, settings=quiz.settings(tmp_path), store=store).resume(run)
