import sqlite3
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, event

from tests.store.making import START, Clock, scored, span_id, trace_id, unscored, work_item
from tracehooks.records import Reason, Status
from tracehooks.store import RunRecord, Store, WorkItem, open_store

MINUTE = timedelta(minutes=1)


@pytest.fixture
def run(store: Store, clock: Clock) -> RunRecord:
    """A run with six planned items."""
    run = store.runs.open("toxicity", clock(), clock() + MINUTE, {})
    assert store.items.add(run.id, [work_item(number) for number in range(1, 7)]) == 6
    return run


def numbers(items: list[WorkItem]) -> list[int]:
    return [int(item.span_id, 16) for item in items]


def test_planning_twice_adds_nothing(store: Store, run: RunRecord) -> None:
    """Items that are there stay as they are, done ones too."""
    (item,) = store.items.claim(run.id, "a", 1, MINUTE)
    store.scores.commit([scored(1, item=item)], project="p", sinks=[])
    assert store.items.add(run.id, [work_item(number, probability=0.5) for number in range(1, 8)]) == 1
    items = store.items.of_run(run.id)
    assert numbers(items) == [1, 2, 3, 4, 5, 6, 7]
    assert [item.probability for item in items] == [1.0] * 6 + [0.5]
    assert items[0].state == "done"


def test_a_claim_is_exclusive_until_its_lease_is_over(store: Store, run: RunRecord, clock: Clock) -> None:
    """Two owners get different items; what is not renewed falls to the next."""
    assert numbers(store.items.claim(run.id, "a", 2, MINUTE)) == [1, 2]
    assert numbers(store.items.claim(run.id, "b", 9, 2 * MINUTE)) == [3, 4, 5, 6]
    assert store.items.claim(run.id, "c", 9, MINUTE) == []
    assert store.items.owners(run.id) == ["a", "b"]
    clock.pass_(seconds=61)
    taken_over = store.items.claim(run.id, "c", 9, MINUTE)
    assert numbers(taken_over) == [1, 2]
    assert [(item.token, item.attempts) for item in taken_over] == [(2, 2), (2, 2)]
    assert store.items.owners(run.id) == ["b", "c"]


def test_a_renewed_lease_holds(store: Store, run: RunRecord, clock: Clock) -> None:
    """Renewing counts from now; a holder who lost an item cannot renew it."""
    items = store.items.claim(run.id, "a", 2, MINUTE)
    clock.pass_(seconds=40)
    assert store.items.renew(items[:1], "a", MINUTE) == 1
    clock.pass_(seconds=40)
    assert numbers(store.items.claim(run.id, "b", 1, MINUTE)) == [3]
    store.items.claim(run.id, "c", 9, MINUTE)
    assert store.items.renew(items, "a", MINUTE) == 1
    assert store.items.renew([], "a", MINUTE) == 0


def test_a_stale_holder_writes_nothing(store: Store, run: RunRecord, clock: Clock) -> None:
    """The result of a holder who was taken over is refused whole; the new holder's counts."""
    (stale,) = store.items.claim(run.id, "a", 1, MINUTE)
    clock.pass_(seconds=61)
    fresh = next(item for item in store.items.claim(run.id, "b", 9, MINUTE) if item.key == stale.key)
    assert store.scores.commit([scored(1, 0.9, item=stale)], project="p", sinks=["jsonl"]) == [False]
    assert store.scores.of_trace(trace_id(1)) == []
    assert store.outbox.counts() == {}
    assert store.items.remaining(run.id) == 6
    assert store.scores.commit([scored(1, 0.1, item=fresh)], project="p", sinks=["jsonl"]) == [True]
    assert store.scores.commit([scored(1, 0.9, item=stale)], project="p", sinks=["jsonl"]) == [False]
    assert store.scores.commit([scored(1, 0.9, item=fresh)], project="p", sinks=["jsonl"]) == [False]
    (score,) = store.scores.of_trace(trace_id(1))
    assert (score.value, len(store.scores.history(score.id))) == (0.1, 1)


def test_an_expired_lease_that_nobody_took_over_still_counts(
    store: Store, run: RunRecord, clock: Clock
) -> None:
    """A slow answer is not thrown away while no one else works on it."""
    (item,) = store.items.claim(run.id, "a", 1, MINUTE)
    clock.pass_(hours=2)
    assert store.scores.commit([scored(1, item=item)], project="p", sinks=[]) == [True]


def test_released_items_can_be_claimed_at_once(store: Store, run: RunRecord) -> None:
    """Given back by the holder, or taken from a holder who is gone; done ones stay done."""
    mine = store.items.claim(run.id, "a", 3, MINUTE)
    store.scores.commit([scored(1, item=mine[0])], project="p", sinks=[])
    assert store.items.release(mine) == 2
    assert store.items.release(mine) == 0
    assert numbers(store.items.claim(run.id, "b", 2, MINUTE)) == [2, 3]
    assert store.items.release_owner("b") == 2
    assert store.items.release_owner("nobody") == 0
    (again,) = store.items.claim(run.id, "c", 1, MINUTE)
    assert (again.trace_id, again.token) == (trace_id(2), 3)


def test_counts_tell_state_status_and_reason(store: Store, run: RunRecord) -> None:
    """Every item is in exactly one count, and the outcomes add up."""
    items = store.items.claim(run.id, "a", 5, MINUTE)
    records = [
        scored(1, item=items[0]),
        unscored(2, "timeout", item=items[1]),
        unscored(3, "timeout", item=items[2]),
        unscored(4, "refused", item=items[3]),
    ]
    assert store.scores.commit(records, project="p", sinks=[]) == [True] * 4
    assert store.items.counts(run.id) == {
        ("planned", None, None): 1,
        ("claimed", None, None): 1,
        ("done", "scored", None): 1,
        ("done", "unscored", "timeout"): 2,
        ("done", "unscored", "refused"): 1,
    }
    assert store.items.remaining(run.id) == 2
    outcomes = store.items.outcomes(run.id)
    assert outcomes == {"scored": 1, "unscored": {"refused": 1, "timeout": 2}, "skipped": {}}


def test_unscored_items_can_be_opened_again(store: Store, run: RunRecord) -> None:
    """A second try takes only what has no score; its token goes on."""
    items = store.items.claim(run.id, "a", 2, MINUTE)
    store.scores.commit([scored(1, item=items[0]), unscored(2, item=items[1])], project="p", sinks=[])
    assert store.items.reopen(run.id) == 1
    again = store.items.claim(run.id, "a", 1, MINUTE)
    assert (numbers(again), again[0].token, again[0].status) == ([2], 2, None)


def test_items_keep_what_a_plan_says_of_them(store: Store, run: RunRecord) -> None:
    """Probability, stratum and outcome read back; a trace's items come from all its runs, newest first."""
    second = store.runs.open("toxicity", run.window_end, run.window_end + MINUTE, {})
    store.runs.update(second.id, started=run.started + MINUTE)
    store.items.add(second.id, [work_item(1, name="other", probability=0.25, stratum="billing")])
    (item,) = store.items.claim(second.id, "a", 1, MINUTE)
    store.scores.commit([unscored(1, "quota", name="other", item=item)], project="p", sinks=[])
    newest, oldest = store.items.of_trace(trace_id(1))
    assert (newest.run_id, newest.probability, newest.stratum) == (second.id, 0.25, "billing")
    assert (newest.state, newest.status, newest.reason_code) == ("done", Status.UNSCORED, Reason.QUOTA)
    assert (oldest.run_id, oldest.state, oldest.span_id) == (run.id, "planned", span_id(1))


@pytest.fixture
def second(store: Store, run: RunRecord) -> RunRecord:
    """Another run that wants the same six scores."""
    second = store.runs.open("toxicity", run.window_start, run.window_end + MINUTE, {})
    store.items.add(second.id, [work_item(number) for number in range(1, 7)])
    return second


def test_two_runs_do_not_work_on_the_same_call(
    store: Store, run: RunRecord, second: RunRecord, clock: Clock
) -> None:
    """agronholm/apscheduler#160: planned by both, held by one; free again when its lease is over."""
    assert numbers(store.items.claim(run.id, "a", 4, MINUTE)) == [1, 2, 3, 4]
    theirs = store.items.claim(second.id, "b", 9, 9 * MINUTE)
    assert numbers(theirs) == [5, 6]
    assert store.items.claim(run.id, "a", 9, MINUTE) == []
    assert store.items.owners() == ["a", "b"]
    store.items.release(theirs[:1])
    assert numbers(store.items.claim(run.id, "c", 9, MINUTE)) == [5]
    clock.pass_(seconds=61)
    assert numbers(store.items.claim(second.id, "b", 9, MINUTE)) == [1, 2, 3, 4, 5]


def test_what_another_run_found_is_taken_over(store: Store, run: RunRecord, second: RunRecord) -> None:
    """Scored or not, the call is not judged twice, and both runs' counts add up."""
    items = store.items.claim(run.id, "a", 5, MINUTE)
    records = [scored(1, item=items[0]), unscored(2, item=items[1]), scored(3, item=items[2])]
    store.scores.commit(records, project="p", sinks=[])
    assert numbers(store.items.claim(second.id, "b", 1, MINUTE)) == [6]
    assert store.items.outcomes(second.id) == store.items.outcomes(run.id)
    assert store.items.outcomes(second.id) == {"scored": 2, "unscored": {"timeout": 1}, "skipped": {}}
    assert (store.items.remaining(run.id), store.items.remaining(second.id)) == (3, 3)


def test_an_older_result_does_not_settle_what_was_planned_to_be_asked_again(
    store: Store, run: RunRecord, second: RunRecord
) -> None:
    """What was unscored when it was planned is asked once more; what is opened again too, once."""
    (item,) = store.items.claim(run.id, "a", 1, MINUTE)
    store.scores.commit([unscored(1, item=item)], project="p", sinks=[])
    third = store.runs.open("toxicity", run.window_start, run.window_end + 2 * MINUTE, {})
    store.items.add(third.id, [work_item(1, seen=1)])
    assert numbers(store.items.claim(third.id, "c", 1, MINUTE)) == [1]
    store.items.release_owner("c")
    assert store.items.reopen(run.id) == 1
    again = store.items.claim(run.id, "a", 1, MINUTE)
    assert numbers(again) == [1]
    store.scores.commit([scored(1, item=again[0])], project="p", sinks=[])
    assert store.items.claim(third.id, "c", 1, MINUTE) == []
    assert store.items.outcomes(third.id)["scored"] == 1


def test_a_call_scored_online_meanwhile_is_not_judged_again(store: Store, run: RunRecord) -> None:
    """A hook has no work item, but its result counts like any other."""
    store.scores.commit([scored(2, source="hook")], project="p", sinks=[])
    assert numbers(store.items.claim(run.id, "a", 2, MINUTE)) == [1, 3]
    assert store.items.outcomes(run.id)["scored"] == 1


def test_a_claim_looks_results_up_by_their_traces(sqlite_url: str) -> None:
    """Not by the name of the score, of which there may be millions: the work would grow with its square."""
    statements: list[tuple[str, Any]] = []
    with open_store(sqlite_url) as store:
        run = store.runs.open("toxicity", START, START + MINUTE, {})
        store.items.add(run.id, [work_item(1)])

        def note(connection: Any, cursor: Any, text: str, parameters: Any, *rest: Any) -> None:
            statements.append((text, parameters))

        event.listen(Engine, "before_cursor_execute", note)
        try:
            store.items.claim(run.id, "a", 1, MINUTE)
        finally:
            event.remove(Engine, "before_cursor_execute", note)
    with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as connection:
        plans = [
            row[3]
            for text, parameters in statements
            if text.startswith("WITH")
            for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", parameters)
        ]
    (about_scores,) = [step for step in plans if "scores" in step]
    assert about_scores == "SEARCH scores USING INDEX scores_by_trace (trace_id=?)"
