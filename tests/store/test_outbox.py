from datetime import timedelta

import pytest

from tests.store.making import Clock, agent_span, scored, trace_id
from tracehooks.protocols import Delivery, Receipt
from tracehooks.records import TraceRef
from tracehooks.store import Store
from tracehooks.store.encoding import from_json, from_micros
from tracehooks.store.outcomes import pause_after

MINUTE = timedelta(minutes=1)


def fill(store: Store, *numbers: int, sinks: tuple[str, ...] = ("jsonl",)) -> None:
    store.scores.commit([scored(number) for number in numbers], project="p", sinks=sinks)


def take(store: Store, limit: int = 100, owner: str = "a", sink: str = "jsonl") -> list[Delivery]:
    return store.outbox.pending(sink, limit, owner, MINUTE)


def numbers(deliveries: list[Delivery]) -> list[int]:
    return [int(one.score.target.span_id, 16) for one in deliveries if one.score.target]


def settle(store: Store, deliveries: list[Delivery], **receipt: object) -> None:
    receipts = [Receipt(id=one.id, **{"accepted": False} | receipt) for one in deliveries]  # type: ignore[arg-type]
    store.outbox.settle("jsonl", receipts, deliveries)


def test_a_delivery_holds_score_call_time_and_revision(store: Store) -> None:
    """A sink gets all that it needs, the call's text included while the call is stored."""
    store.spans.add([agent_span(1)])
    (call,) = store.calls.of_trace(trace_id(1))
    store.scores.commit([scored(1, 0.25, comment="mild", call=call)], project="p", sinks=["jsonl"])
    (delivery,) = take(store)
    (score,) = store.scores.of_trace(trace_id(1))
    assert delivery == Delivery(
        id=score.id,
        score=score.score,
        call=call,
        time=call.start,
        environment="default",
        revision=1,
        scorer_version=score.scorer_version,
        run_id=score.run_id,
        probability=score.probability,
        scored_at=score.scored_at,
    )


def test_a_row_says_what_a_delivery_says(store: Store, clock: Clock) -> None:
    """Flat and without the call, for sinks that want it so: the same score, and as often sent."""
    store.scores.commit([scored(1, 0.25, comment="mild")], project="p", sinks=["jsonl"])
    (delivery,) = take(store)
    clock.pass_(seconds=61)
    (row,) = store.outbox.rows("pending", "jsonl", 9, "a", MINUTE)
    score = delivery.score
    assert TraceRef(row.trace_id, row.span_id) == score.target
    assert (row.id, row.name, row.value, row.data_type) == (delivery.id, score.name, 0.25, "NUMERIC")
    assert (row.comment, from_json(row.metadata)) == ("mild", score.metadata)
    assert (from_micros(row.call_start), row.environment) == (delivery.time, delivery.environment)
    assert from_micros(row.scored_at) == delivery.scored_at
    assert (row.scorer_version, row.run_id, row.probability) == (
        delivery.scorer_version,
        delivery.run_id,
        delivery.probability,
    )
    assert (row.revision, row.resent) == (delivery.revision, delivery.resent)
    assert take(store) == []


def test_first_and_later_revisions_are_settled_together(store: Store) -> None:
    """One batch may hold both; each is compared with its own revision."""
    fill(store, 1, 2, 3)
    store.scores.commit([scored(2, 0.9, rescore=True)], project="p", sinks=["jsonl"])
    deliveries = take(store)
    assert sorted(one.revision for one in deliveries) == [1, 1, 2]
    store.scores.commit([scored(3, 0.8, rescore=True)], project="p", sinks=["jsonl"])
    settle(store, deliveries, accepted=True)
    assert store.outbox.counts() == {"jsonl": {"accepted": 2, "pending": 1}}
    (left,) = take(store)
    assert (left.score.value, left.revision) == (0.8, 2)


def test_a_taken_delivery_is_no_one_elses_until_the_lease_is_over(store: Store, clock: Clock) -> None:
    """Two senders get different scores; what a dead sender held is due again."""
    fill(store, 1, 2, 3)
    first, second = take(store, 2), take(store, 2, "b")
    assert (len(first), len(second)) == (2, 1)
    assert sorted(numbers(first + second)) == [1, 2, 3]
    assert take(store, 9, "c") == []
    clock.pass_(seconds=61)
    assert sorted(numbers(take(store, 9, "c"))) == [1, 2, 3]


def test_sinks_do_not_wait_for_each_other(store: Store) -> None:
    """Each sink has a row of its own for each score."""
    fill(store, 1, 2, sinks=("jsonl", "otel"))
    settle(store, take(store), accepted=True)
    assert store.outbox.counts() == {"jsonl": {"accepted": 2}, "otel": {"pending": 2}}
    assert len(take(store, sink="otel")) == 2


def test_what_failed_is_due_again_after_a_growing_pause(store: Store, clock: Clock) -> None:
    """An outage of any length ends in delivery: never dead, never asked again at once."""
    fill(store, 1)
    for attempt in range(1, 12):
        (delivery,) = take(store)
        settle(store, [delivery], error="503")
        clock.now += pause_after(attempt) - timedelta(microseconds=1)
        assert take(store) == []
        clock.now += timedelta(microseconds=1)
    settle(store, take(store), accepted=True)
    assert store.outbox.counts() == {"jsonl": {"accepted": 1}}


@pytest.mark.parametrize(("attempts", "seconds"), [(1, 5), (2, 10), (5, 80), (8, 600), (10_000, 600)])
def test_pauses_double_up_to_ten_minutes(attempts: int, seconds: int) -> None:
    """Five seconds first, at most ten minutes."""
    assert pause_after(attempts) == timedelta(seconds=seconds)


def test_what_can_never_succeed_is_dead(store: Store, clock: Clock) -> None:
    """A refusal for good is not tried again, and is counted."""
    fill(store, 1, 2)
    first, second = take(store)
    receipts = [
        Receipt(id=first.id, accepted=False, error="400 \ud83e", retry=False),
        Receipt(id=second.id, accepted=True),
    ]
    store.outbox.settle("jsonl", receipts, [first, second])
    clock.pass_(days=30)
    assert take(store) == []
    assert store.outbox.counts() == {"jsonl": {"accepted": 1, "dead": 1}}


def test_a_receipt_for_a_replaced_revision_settles_nothing(store: Store) -> None:
    """A rescore that comes while the old value is under way is sent too."""
    fill(store, 1)
    old = take(store)
    store.scores.commit([scored(1, 0.9, rescore=True)], project="p", sinks=["jsonl"])
    settle(store, old, accepted=True)
    assert store.outbox.counts() == {"jsonl": {"pending": 1}}
    (new,) = take(store)
    assert (new.score.value, new.revision) == (0.9, 2)
    settle(store, old, error="late", retry=False)
    settle(store, [new], accepted=True)
    assert store.outbox.counts() == {"jsonl": {"accepted": 1}}


def test_a_rescore_is_sent_after_the_first_was_accepted(store: Store) -> None:
    """Accepted is about a revision, not about a score; even a dead one gets another chance."""
    fill(store, 1)
    settle(store, take(store), retry=False, error="400")
    store.scores.commit([scored(1, 0.9, rescore=True)], project="p", sinks=["jsonl"])
    (delivery,) = take(store)
    assert (delivery.revision, delivery.score.value) == (2, 0.9)


def test_a_late_failure_does_not_undo_an_acceptance(store: Store, clock: Clock) -> None:
    """A sender that lost its lease and then failed does not make an accepted score pending again."""
    fill(store, 1)
    slow = take(store, owner="slow")
    clock.pass_(seconds=61)
    settle(store, take(store, owner="quick"), accepted=True)
    settle(store, slow, error="timeout")
    assert store.outbox.counts() == {"jsonl": {"accepted": 1}}


def test_receipts_nobody_asked_for_change_nothing(store: Store) -> None:
    """A sink that answers about unknown ids, or not at all, harms nothing."""
    fill(store, 1)
    deliveries = take(store)
    store.outbox.settle("jsonl", [Receipt(id="f" * 32, accepted=True)], deliveries)
    store.outbox.settle("jsonl", [], deliveries)
    store.outbox.settle("otel", [Receipt(id=deliveries[0].id, accepted=True)], deliveries)
    assert store.outbox.counts() == {"jsonl": {"pending": 1}}
