from datetime import datetime, timedelta

import pytest

from tests.store.making import START, Clock
from tracehooks.errors import ConfigurationError
from tracehooks.records import Verdict
from tracehooks.store import Store

DAY = timedelta(days=1)


def test_a_job_and_a_window_have_one_run(store: Store, clock: Clock) -> None:
    """Opening again gives the run that is there, as it is; another window or job is another run."""
    run = store.runs.open("toxicity", START, START + DAY, {"size": 300}, owner="host:1")
    assert (run.state, run.verdict, run.plan, run.started, run.owner) == (
        "running",
        None,
        {"size": 300},
        START,
        "host:1",
    )
    clock.pass_(hours=1)
    assert store.runs.open("toxicity", START, START + DAY, {"size": 5}) == run
    others = [
        store.runs.open("toxicity", START, START + 2 * DAY, {}),
        store.runs.open("noise", START, START + DAY, {}),
    ]
    assert len({run.id, *(other.id for other in others)}) == 3


def test_what_a_run_found_reads_back(store: Store, clock: Clock) -> None:
    """Verdict, reasons, counts and report, NaN and odd characters made safe."""
    run = store.runs.open("toxicity", START, START + DAY, {})
    updated = store.runs.update(
        run.id,
        state="finished",
        verdict=Verdict.FAIL,
        reasons=("rate", "coverage \ud83e"),
        counts={"planned": 3, "unscored": {"timeout": 1}},
        report={"mean": float("nan"), "worst": ["x"]},
        ended=START + timedelta(minutes=5),
    )
    assert updated == store.runs.get(run.id)
    assert (updated.verdict, updated.reasons) == (Verdict.FAIL, ("rate", "coverage \ufffd"))
    assert updated.counts == {"planned": 3, "unscored": {"timeout": 1}}
    assert updated.report == {"mean": None, "worst": ["x"]}
    assert updated.ended == START + timedelta(minutes=5)
    assert store.runs.update(run.id) == updated


def test_a_run_is_found_by_the_beginning_of_its_id(store: Store) -> None:
    """As with git: enough of it, but not a pattern; too little or wrong says what to do."""
    runs = [store.runs.open("toxicity", START, START + n * DAY, {}) for n in range(1, 40)]
    assert store.runs.get(runs[0].id[:12]) == runs[0]
    with pytest.raises(ConfigurationError, match="several runs"):
        store.runs.get(_shared_beginning([run.id for run in runs]))
    for unknown in ("nosuchrun", "%", "", "\x00\ud83e"):
        with pytest.raises(ConfigurationError, match=r"there is no run .* lists them"):
            store.runs.get(unknown)


def _shared_beginning(ids: list[str]) -> str:
    beginnings = [run_id[:1] for run_id in ids]
    return next(beginning for beginning in beginnings if beginnings.count(beginning) > 1)


def test_fields_that_make_a_run_what_it_is_cannot_be_set(store: Store) -> None:
    """A misspelt field and the window are refused; so is a run that is not there."""
    run = store.runs.open("toxicity", START, START + DAY, {})
    with pytest.raises(TypeError, match="stat, window_end cannot be set"):
        store.runs.update(run.id, stat="x", window_end=START)
    with pytest.raises(ConfigurationError, match="there is no run"):
        store.runs.update("0" * 16, state="failed")


def test_the_latest_runs_come_first(store: Store, clock: Clock) -> None:
    """By when they started, of a job and in a state where asked."""
    for n, (job, state) in enumerate([("a", "finished"), ("a", "failed"), ("b", "finished")], start=1):
        clock.pass_(hours=1)
        run = store.runs.open(job, START, START + n * DAY, {})
        store.runs.update(run.id, state=state)
    assert [run.job for run in store.runs.list()] == ["b", "a", "a"]
    assert [run.state for run in store.runs.list("a", limit=1)] == ["failed"]
    latest = store.runs.latest("a", "finished")
    assert latest is not None
    assert latest.window_end == START + DAY
    assert store.runs.latest("noise") is None


def test_a_time_without_a_zone_is_refused(store: Store) -> None:
    """Local times must not slip in unnoticed."""
    with pytest.raises(ValueError, match="no time zone"):
        store.runs.open("toxicity", datetime(2026, 1, 1), START, {})


MINUTE = timedelta(minutes=1)


def test_a_run_is_held_by_one_until_its_lease_is_over(store: Store, clock: Clock) -> None:
    """Renewing keeps it; who lost it changes nothing any more."""
    run = store.runs.open("toxicity", START, START + DAY, {})
    mine = store.runs.take(run.id, "a", MINUTE, plan={"size": 5})
    assert mine is not None
    assert (mine.owner, mine.plan, mine.lapsed) == ("a", {"size": 5}, False)
    assert store.runs.take(run.id, "b", MINUTE) is None
    clock.pass_(seconds=50)
    assert store.runs.hold(run.id, "a", MINUTE)
    clock.pass_(seconds=50)
    assert store.runs.take(run.id, "b", MINUTE) is None
    clock.pass_(seconds=11)
    assert store.runs.get(run.id).lapsed
    assert store.runs.take(run.id, "b", MINUTE) is not None
    assert not store.runs.hold(run.id, "a", MINUTE)
    assert store.runs.update(run.id, held_by="a", state="finished").state == "running"
    assert store.runs.update(run.id, held_by="b", state="finished").state == "finished"


def test_the_run_of_one_who_is_gone_can_be_taken_at_once(store: Store) -> None:
    """On the same host a dead process is known to be dead; a run that ended is free too."""
    run = store.runs.open("toxicity", START, START + DAY, {}, owner="dead")
    assert store.runs.take(run.id, "a", MINUTE) is None
    assert store.runs.take(run.id, "a", MINUTE, is_gone=lambda owner: owner == "dead") is not None
    store.runs.update(run.id, state="interrupted")
    assert store.runs.take(run.id, "b", MINUTE) is not None
    assert store.runs.take(run.id, "b", MINUTE, states=["interrupted"]) is None
    store.runs.update(run.id, state="finished")
    assert store.runs.take(run.id, "c", MINUTE, states=["running", "interrupted"]) is None
    assert store.runs.take("0" * 16, "b", MINUTE) is None


def test_finished_runs_come_by_the_end_of_their_windows(store: Store, clock: Clock) -> None:
    """One that was resumed late does not hide what was covered since."""
    for n in (2, 3, 1):
        clock.pass_(hours=1)
        run = store.runs.open("a", START, START + n * DAY, {})
        store.runs.update(run.id, state="finished")
    store.runs.open("a", START, START + 9 * DAY, {})
    assert [run.window_end - START for run in store.runs.finished("a")] == [3 * DAY, 2 * DAY, DAY]
