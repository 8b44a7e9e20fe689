"""Replays in the store: claimed by one at a time, kept once, counted so that they add up."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.store.making import Clock, span_id, trace_id
from tracehooks.records import Reason
from tracehooks.store import RunRecord, Store
from tracehooks.store.replays import Replay, ReplayCounts

MINUTE = timedelta(minutes=1)


def planned(run: RunRecord, number: int, **more: object) -> Replay:
    fields = {"case": f"case-{number}", "variant": "v", "position": number, "noise_type": "typos", **more}
    return Replay(run_id=run.id, agent="desk", dataset="desk", repeat=0, **fields)  # type: ignore[arg-type]


@pytest.fixture
def run(store: Store, clock: Clock) -> RunRecord:
    """A run with six planned replays."""
    made = store.runs.open("noise", clock(), clock(), {})
    assert store.replays.add([planned(made, number) for number in range(6)]) == 6
    return made


def positions(replays: list[Replay]) -> list[int]:
    return [one.position for one in replays]


def test_planning_twice_adds_nothing(store: Store, run: RunRecord) -> None:
    """What is there stays as it is, also what is done."""
    (one,) = store.replays.claim(run.id, "a", 1, MINUTE)
    assert store.replays.finish([replace(one, answer="24 months")]) == [True]
    assert store.replays.add([planned(run, number, min_score=0.5) for number in range(7)]) == 1
    found = store.replays.of_run(run.id)
    assert positions(found) == [0, 1, 2, 3, 4, 5, 6]
    assert [one.min_score for one in found] == [None] * 6 + [0.5]
    assert (found[0].done, found[0].answer) == (True, "24 months")


def test_repeats_and_the_clean_question_are_rows_of_their_own(store: Store, run: RunRecord) -> None:
    """langfuse/langfuse#15935: the key is as fine when it is read as when it is written."""
    repeats = [planned(run, 100 + n, case="same", variant=None) for n in range(1)]
    repeats += [replace(planned(run, 200 + n, case="same"), repeat=n) for n in range(5)]
    assert store.replays.add(repeats) == 6
    same = [one for one in store.replays.of_run(run.id) if one.case == "same"]
    assert [(one.variant, one.repeat) for one in same] == [(None, 0)] + [("v", n) for n in range(5)]


def test_a_claim_is_exclusive_until_its_lease_is_over(store: Store, run: RunRecord, clock: Clock) -> None:
    """Two owners get different ones, in the plan's order; what is not renewed falls to the next."""
    held = store.replays.claim(run.id, "a", 2, MINUTE)
    assert positions(held) == [0, 1]
    assert positions(store.replays.claim(run.id, "b", 9, 2 * MINUTE)) == [2, 3, 4, 5]
    assert store.replays.claim(run.id, "c", 9, MINUTE) == []
    assert store.replays.owners(run.id) == ["a", "b"]
    clock.pass_(seconds=50)
    assert store.replays.renew(held[:1], "a", MINUTE) == 1
    clock.pass_(seconds=11)
    assert positions(store.replays.claim(run.id, "c", 9, MINUTE)) == [1]


def test_a_late_holder_is_refused(store: Store, run: RunRecord, clock: Clock) -> None:
    """The token says who claimed last; the answer of whoever lost it is not kept."""
    (old,) = store.replays.claim(run.id, "a", 1, MINUTE)
    clock.pass_(seconds=61)
    new = store.replays.claim(run.id, "b", 1, MINUTE)[0]
    assert store.replays.finish([replace(new, answer="new")]) == [True]
    assert store.replays.finish([replace(old, answer="old")]) == [False]
    assert store.replays.of_run(run.id)[0].answer == "new"


def test_what_a_dead_owner_held_is_given_back(store: Store, run: RunRecord) -> None:
    """As is what a living one releases."""
    held = store.replays.claim(run.id, "a", 3, MINUTE)
    assert store.replays.release(held[:1]) == 1
    assert store.replays.release_owner("a") == 2
    assert positions(store.replays.claim(run.id, "b", 9, MINUTE)) == [0, 1, 2, 3, 4, 5]


def test_counts_add_up_and_a_trace_finds_its_replay(store: Store, run: RunRecord) -> None:
    """Answered, failed, not attempted; a silence is an answer."""
    said, silent, failed = store.replays.claim(run.id, "a", 3, MINUTE)
    done = [
        replace(said, answer="24 months", trace_id=trace_id(1), span_id=span_id(1)),
        silent,
        replace(failed, error="ValueError: \x00 no", reason=Reason.NOT_ATTEMPTED, detail="it failed"),
    ]
    assert store.replays.finish(done) == [True] * 3
    counts = store.replays.counts(run.id)
    assert counts == ReplayCounts(answered=2, agent_errors=1, waiting=3)
    assert (counts.planned, counts.not_attempted) == (6, 3)
    (found,) = store.replays.of_trace(trace_id(1))
    assert (found.case, found.noise_type, found.answer) == ("case-0", "typos", "24 months")
    kept = store.replays.of_run(run.id)[2]
    assert (kept.reason, kept.detail) == (Reason.NOT_ATTEMPTED, "it failed")
    assert store.replays.counts("nowhere").planned == 0


def test_what_cannot_be_asked_is_neither_answered_nor_waiting(store: Store, run: RunRecord) -> None:
    """Noise that cannot be brought to the agent: done, and the agent was not asked."""
    asked, unaskable = store.replays.claim(run.id, "a", 2, MINUTE)
    reason = {"reason": Reason.NOT_APPLICABLE, "detail": "noise never reached the agent"}
    done = [replace(asked, trace_id=trace_id(1), span_id=span_id(1), **reason), replace(unaskable, **reason)]  # type: ignore[arg-type]
    assert store.replays.finish(done) == [True, True]
    counts = store.replays.counts(run.id)
    assert counts == ReplayCounts(answered=1, waiting=4, unaskable=1)
    assert (counts.planned, counts.not_attempted) == (6, 5)
