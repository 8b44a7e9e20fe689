"""What runs have listed from a backend."""

from array import array
from datetime import timedelta

from tests.stored import NOON
from tracehooks.store import Store

HOUR = timedelta(hours=1)


def test_what_was_listed_is_told_from_what_was_not(store: Store) -> None:
    """All keys up to the largest, in many rows, in order; replaced as a whole when a run looks again."""
    run = store.runs.open("toxicity", NOON - HOUR, NOON, plan={})
    store.listed.replace(run.id, array("Q", [2**64 - 1, 0, *range(5, 70_000)]))
    assert list(store.listed.of_run(run.id)) == [0, *range(5, 70_000), 2**64 - 1]
    store.listed.replace(run.id, [7])
    assert list(store.listed.of_run(run.id)) == [7]


def test_only_other_runs_of_the_job_that_reach_into_the_time_count(store: Store) -> None:
    """A run looks at its own calls again, and at those of one that never ended; other jobs do not count."""
    runs = {
        name: store.runs.open(job, NOON - 2 * HOUR, end, plan={})
        for name, job, end in (
            ("old", "toxicity", NOON - HOUR),
            ("last", "toxicity", NOON),
            ("own", "toxicity", NOON + HOUR),
            ("other", "noise", NOON),
        )
    }
    for key, run in enumerate(runs.values()):
        store.listed.replace(run.id, [key])
        store.runs.update(run.id, state="finished")
    killed = store.runs.open("toxicity", NOON - HOUR / 2, NOON, plan={})
    store.listed.replace(killed.id, [9])
    assert list(store.listed.before("toxicity", NOON - HOUR, but=runs["own"].id)) == [1]
    assert list(store.listed.before("toxicity", NOON - 3 * HOUR)) == [0, 1, 2]


def test_pruning_forgets_what_old_runs_listed(store: Store) -> None:
    """It is of use for as long as a late call may come; runs and their counts stay."""
    old = store.runs.open("toxicity", NOON - 2 * HOUR, NOON - HOUR, plan={})
    new = store.runs.open("toxicity", NOON - HOUR, NOON, plan={})
    for run in (old, new):
        store.listed.replace(run.id, [1, 2])
    store.spans.prune(NOON - HOUR / 2)
    assert (list(store.listed.of_run(old.id)), list(store.listed.of_run(new.id))) == ([], [1, 2])
