"""Spans that a backend has not taken: noted with them, claimed once, given up with a count."""

from datetime import timedelta

import pytest

from tests.store.making import START, Clock, agent_span, span_id, trace_id
from tracehooks.store import Store
from tracehooks.store.unsent import HELD, PRUNED, REFUSALS, TOO_MANY, Unsent
from tracehooks.store.unsent_table import GRACE

LEASE = timedelta(minutes=1)
NOBODY = "gone:1:"


def add(store: Store, *numbers: int, owner: str = "me") -> list[tuple[str, str]]:
    """Store spans that wait for langfuse; returns their places."""
    spans = [agent_span(number) for number in numbers]
    waiting = [Unsent("langfuse", span.trace_id, span.span_id, {"kind": "CLIENT"}) for span in spans]
    store.spans.add(spans, lambda: waiting, owner)
    return [one.place for one in waiting]


def claimed(store: Store, limit: int = 10, owner: str = "other") -> list[tuple[str, str]]:
    return [one.place for one in store.unsent.claim("langfuse", owner, LEASE, limit)]


def test_what_was_taken_waits_no_more(store: Store) -> None:
    """Exactly these: another trace's span of the same id goes on waiting, and other backends' do."""
    first, second = add(store, 1, 2)
    mixed = (first[0], second[1])
    both = [Unsent("langfuse", *mixed), Unsent("elsewhere", *first)]
    store.spans.add([agent_span(3)], lambda: both, "me")
    assert store.unsent.taken("langfuse", [first, second, ("0" * 32, "0" * 16)]) == {first, second}
    counts = store.unsent.counts()
    assert {name: one.waiting for name, one in counts.items()} == {"langfuse": 1, "elsewhere": 1}
    assert store.unsent.taken("langfuse", [first]) == set()


def test_a_living_process_has_its_time_and_then_anybody_may_send(store: Store, clock: Clock) -> None:
    """Claimed once, by trace, with what the store's span lacks; again when the claimer's lease is over."""
    places = sorted(add(store, 1, 2, 3))
    assert claimed(store) == []
    clock.pass_(seconds=HELD.total_seconds() + 1)
    (first,) = store.unsent.claim("langfuse", "other", LEASE, 1)
    assert (first.place, first.rest) == (places[0], {"kind": "CLIENT"})
    rest = store.unsent.claim("langfuse", "other", LEASE, 10, after=first.trace_id)
    assert [one.place for one in rest] == places[1:]
    assert claimed(store) == []
    clock.pass_(seconds=LEASE.total_seconds() + 1)
    assert claimed(store) == places


def test_a_trace_is_claimed_whole(store: Store) -> None:
    """Whoever sends some of its spans reads all of them: once, however many there are."""
    spans = [agent_span(number, trace=1) for number in range(1, 31)]
    waiting = [Unsent("langfuse", span.trace_id, span.span_id) for span in spans]
    store.spans.add(spans, lambda: waiting, NOBODY)
    (other,) = add(store, 99, owner=NOBODY)
    store.unsent.release_owner("langfuse", NOBODY)
    assert claimed(store, limit=5) == [one.place for one in waiting]
    assert claimed(store, limit=5) == [other]


def test_what_a_dead_process_held_is_due_at_once(store: Store) -> None:
    """By its owner, who else holds nothing."""
    add(store, 1, owner="me")
    (theirs,) = add(store, 2, owner=NOBODY)
    assert sorted(store.unsent.owners("langfuse")) == [NOBODY, "me"]
    assert store.unsent.release_owner("langfuse", NOBODY) == 1
    assert claimed(store) == [theirs]


def test_hurrying_leaves_a_living_process_its_first_minute(store: Store, clock: Clock) -> None:
    """What it has held for longer, and what waits for its next try, is due at once."""
    (old,) = add(store, 1)
    clock.pass_(seconds=GRACE.total_seconds() + 1)
    add(store, 2)
    store.unsent.hurry("langfuse")
    assert claimed(store) == [old]
    store.unsent.put_back("langfuse", [old], "503 down")
    assert claimed(store) == []
    assert store.unsent.wait("langfuse") == pytest.approx(5)
    store.unsent.hurry("langfuse")
    assert claimed(store) == [old]
    assert store.unsent.counts()["langfuse"].error == "503 down"


def test_what_is_refused_by_itself_is_dead_in_the_end_and_can_be_revived(store: Store, clock: Clock) -> None:
    """Not for a while, then not at all; it is counted, with the backend's words."""
    (place,) = add(store, 1, owner=NOBODY)
    store.unsent.release_owner("langfuse", NOBODY)
    for _ in range(REFUSALS):
        assert claimed(store) == [place]
        store.unsent.refused("langfuse", {place: "400 no"})
        assert claimed(store) == []
        clock.pass_(seconds=3600)
    counts = store.unsent.counts()["langfuse"]
    assert (counts.waiting, counts.dead, counts.error) == (0, 1, "400 no")
    assert claimed(store) == []
    assert store.unsent.revive("langfuse") == 1
    assert claimed(store) == [place]


def test_what_waits_is_bounded_and_what_is_given_up_is_counted(store: Store, clock: Clock) -> None:
    """The oldest go first; those whose trace is pruned are counted too."""
    add(store, 1, 2)
    clock.pass_(seconds=1)
    add(store, 3, 4, 5)
    assert store.unsent.trim("langfuse", 5) == 0
    assert store.unsent.trim("langfuse", 3) == 2
    assert store.unsent.taken("langfuse", [(trace_id(1), span_id(1))]) == set()
    store.unsent.give_up("langfuse", [(trace_id(3), span_id(3))], PRUNED)
    assert store.spans.prune(START + timedelta(days=1)) == 5
    counts = store.unsent.counts()["langfuse"]
    assert (counts.waiting, counts.oldest, dict(counts.given_up)) == (0, None, {TOO_MANY: 2, PRUNED: 3})


def test_a_span_that_is_stored_again_is_noted_once(store: Store, clock: Clock) -> None:
    """Both processes of a fork may end it; the first note stays."""
    since = clock()
    add(store, 1)
    clock.pass_(seconds=5)
    add(store, 1, owner="other")
    counts = store.unsent.counts()["langfuse"]
    assert (counts.waiting, counts.oldest) == (1, since)
    assert store.unsent.owners("langfuse") == ["me"]
