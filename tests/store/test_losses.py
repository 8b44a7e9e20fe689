"""Losses: how many spans never arrived, as the processes that lost them noted it."""

from datetime import timedelta

from tests.store.making import Clock
from tracehooks.store import Store


def test_losses_add_up_over_the_processes_that_note_them(store: Store, clock: Clock) -> None:
    """langfuse/langfuse#1499: what never arrived is counted, where a night can see it."""
    assert store.losses.count() == 0
    store.losses.add(3)
    store.losses.add(4)
    store.losses.add(0)
    assert store.losses.count() == 7


def test_a_window_counts_what_was_noted_within_it(store: Store, clock: Clock) -> None:
    """Windows that follow each other count each loss once."""
    store.losses.add(3)
    now = clock()
    assert store.losses.count(now, now + timedelta(seconds=1)) == 3
    assert store.losses.count(now - timedelta(seconds=1), now) == 0
