"""Stored batches: remembered before anything is sent, changed by the run's owner only, ended once."""

from datetime import timedelta

import pytest

from tests.store.making import START
from tracehooks.store import RunRecord, Store
from tracehooks.store.accounts import Hold, Spent
from tracehooks.store.batches import StoredBatch, StoredLetter

LEASE = timedelta(minutes=1)
HOLD = Hold(id="h", scopes=("run:1", "day:2"), most=Spent(calls=1, input_tokens=2, output_tokens=3, nanos=4))


def _run(store: Store, owner: str = "a") -> RunRecord:
    run = store.runs.open("toxicity", START, START, plan={})
    taken = store.runs.take(run.id, owner, LEASE, is_gone=lambda one: True)
    assert taken is not None
    return taken


def _batch(run: RunRecord, name: str = "b1") -> StoredBatch:
    return StoredBatch(id=name, run_id=run.id, requests=2, intended_at=START, due=START + timedelta(hours=1))


def _letters() -> list[StoredLetter]:
    return [
        StoredLetter(custom_id="c-1", question="q", nonce="n", body='{"model":"m"}', hold=HOLD),
        StoredLetter(custom_id="c-2", question="q", nonce="n", body="{}"),
    ]


def test_batches_are_kept_as_they_were_made_up(store: Store) -> None:
    """With all of their requests and what is reserved for them."""
    run = _run(store)
    assert store.batches.intend([(_batch(run), _letters())], "a")
    assert store.batches.of_run(run.id) == [_batch(run)]
    assert store.batches.letters("b1") == _letters()


def test_a_run_makes_up_its_batches_once(store: Store) -> None:
    """Not again, and not by somebody who has lost the run."""
    run = _run(store)
    assert not store.batches.intend([(_batch(run), _letters())], "b")
    assert store.batches.intend([(_batch(run), _letters())], "a")
    assert not store.batches.intend([(_batch(run, "b2"), [])], "a")
    assert [batch.id for batch in store.batches.of_run(run.id)] == ["b1"]


def test_only_the_owner_changes_them(store: Store) -> None:
    """A process that was taken over does not write any more."""
    run = _run(store)
    store.batches.intend([(_batch(run), _letters())], "a")
    assert store.batches.update(_batch(run), "a", tried_at=START)
    _run(store, "b")
    assert not store.batches.update(_batch(run), "a", remote_id="lost")
    assert not store.batches.end(_batch(run), "a", {"c-1": (200, "{}")})
    assert store.batches.update(_batch(run), "b", state="submitted", remote_id="batch_1")
    (found,) = store.batches.of_run(run.id)
    assert (found.state, found.remote_id, found.tried_at) == ("submitted", "batch_1", START)


def test_a_batch_ends_once_with_what_it_brought(store: Store) -> None:
    """The second end changes nothing; the answers are found by run and custom id."""
    run = _run(store)
    store.batches.intend([(_batch(run), _letters())], "a")
    assert store.batches.answered(run.id, "c-1") is None
    assert store.batches.end(_batch(run), "a", {"c-1": (200, '{"id": 1}')}, status="completed", answered=1)
    assert not store.batches.end(_batch(run), "a", {"c-2": (200, "{}")}, status="expired")
    found = store.batches.answered(run.id, "c-1")
    assert found is not None
    assert (found.status, found.reply, found.hold) == (200, '{"id": 1}', HOLD)
    assert store.batches.answered(run.id, "c-2") is None
    assert store.batches.of_run(run.id)[0].status == "completed"


def test_reservations_are_settled_when_a_batch_is_over(store: Store) -> None:
    """Those that there are, until it is noted."""
    run = _run(store)
    store.batches.intend([(_batch(run), _letters())], "a")
    assert store.batches.unsettled(run.id) == []
    store.batches.end(_batch(run), "a")
    ((batch, letters),) = store.batches.unsettled(run.id)
    assert (batch.id, [letter.custom_id for letter in letters]) == ("b1", ["c-1"])
    store.batches.settle("b1")
    assert store.batches.unsettled(run.id) == []


@pytest.mark.parametrize("over", [True, False])
def test_only_what_is_over_is_forgotten(store: Store, over: bool) -> None:
    """A run that begins anew keeps to the batch that is under way."""
    run = _run(store)
    store.batches.intend([(_batch(run), _letters())], "a")
    if over:
        store.batches.end(_batch(run), "a")
    store.batches.forget(run.id)
    assert bool(store.batches.of_run(run.id)) is not over
    assert bool(store.batches.letters("b1")) is not over
