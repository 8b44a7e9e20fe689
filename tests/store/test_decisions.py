from datetime import timedelta

from tests.store.making import START, span_id, trace_id, work_item
from tracehooks.records import Decision, TraceRef
from tracehooks.store import Store

DAY = timedelta(days=1)


def row(number: int, decision: Decision, reason: str = "") -> tuple[str, str, Decision, str]:
    return trace_id(number), span_id(number), decision, reason


def ref(number: int) -> TraceRef:
    return TraceRef(trace_id(number), span_id(number))


def test_decisions_are_kept_with_their_reasons(store: Store) -> None:
    """Deciding again replaces; a trace's decisions come from all runs, newest first."""
    first = store.runs.open("toxicity", START, START + DAY, {})
    second = store.runs.open("toxicity", START, START + 2 * DAY, {})
    store.runs.update(second.id, started=START + DAY)
    store.decisions.add(
        first.id, [row(1, Decision.DEFERRED, "open"), row(2, Decision.SAMPLED_OUT, "not drawn")]
    )
    store.decisions.add(first.id, [row(1, Decision.SAMPLED_OUT, "not drawn \ud83e")])
    store.decisions.add(second.id, [row(1, Decision.ALREADY_SCORED, "by a hook")])
    assert store.decisions.counts(first.id) == {Decision.SAMPLED_OUT: 2}
    about = [(one.run_id, one.decision, one.reason) for one in store.decisions.of_trace(trace_id(1))]
    assert about == [
        (second.id, Decision.ALREADY_SCORED, "by a hook"),
        (first.id, Decision.SAMPLED_OUT, "not drawn \ufffd"),
    ]
    assert store.decisions.clear(first.id) == 2
    assert store.decisions.counts(first.id) == {}


def test_a_hundred_thousand_calls_can_be_left_out(store: Store) -> None:
    """More rows than a statement or a transaction should have, from a generator."""
    run = store.runs.open("toxicity", START, START + DAY, {})
    store.decisions.add(run.id, (row(number, Decision.SAMPLED_OUT, "not drawn") for number in range(12_000)))
    assert store.decisions.counts(run.id) == {Decision.SAMPLED_OUT: 12_000}


def test_what_a_job_decided_or_planned_is_decided(store: Store) -> None:
    """A deferred call and another job's are undecided."""
    run = store.runs.open("toxicity", START, START + DAY, {})
    other = store.runs.open("noise", START, START + DAY, {})
    store.decisions.add(run.id, [row(1, Decision.SAMPLED_OUT), row(2, Decision.DEFERRED)])
    store.decisions.add(other.id, [row(3, Decision.SAMPLED_OUT)])
    store.items.add(run.id, [work_item(4)])
    asked = [ref(number) for number in range(1, 700)]
    assert store.decisions.decided("toxicity", asked) == {ref(1), ref(4)}
    assert store.decisions.decided("toxicity", [TraceRef(trace_id(1), span_id(2))]) == set()
