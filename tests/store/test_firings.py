from datetime import timedelta

from tests.store.making import START, Clock
from tracehooks.store import Store
from tracehooks.store.firings import Firing
from tracehooks.store.notices import GIVEN_UP_AFTER, Notice

DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)


def firing(day: int, **more: object) -> Firing:
    due = START + day * DAY
    return Firing(job="toxicity", slot=f"{due:%F}", due=due, **{"noted_at": due, **more})  # type: ignore[arg-type]


def test_the_first_who_notes_a_slot_decides_its_window(store: Store) -> None:
    """agronholm/apscheduler#766: whoever comes second gets what the first has said."""
    window, other = (START - DAY, START), (START - 2 * DAY, START)
    (first,) = store.firings.note([firing(0, window=window)])
    (second,) = store.firings.note([firing(0, window=other, noted_at=START + MINUTE)])
    assert first == second
    assert (second.window, second.state, second.late) == (window, "open", 0)


def test_a_firing_is_closed_once(store: Store) -> None:
    """What came of it first stays."""
    first, second = store.firings.note([firing(0), firing(1)])
    store.firings.close(first, "done", run_id="4be1", note="late 80 min")
    store.firings.close(first, "missed")
    latest, before = store.firings.list("toxicity")
    assert (before.state, before.run_id, before.note) == ("done", "4be1", "late 80 min")
    assert latest == second == store.firings.latest("toxicity")
    assert store.firings.latest("noise") is None


def test_schedulers_are_listed_until_they_leave(store: Store, clock: Clock) -> None:
    """A killed one stays with the time when it was last seen."""
    store.schedulers.beat("a")
    clock.pass_(minutes=1)
    store.schedulers.beat("b")
    clock.pass_(minutes=1)
    store.schedulers.beat("b")
    assert [(one.owner, one.seen - one.started) for one in store.schedulers.list()] == [
        ("b", MINUTE),
        ("a", 0 * MINUTE),
    ]
    store.schedulers.leave("b")
    store.schedulers.forget(START + MINUTE)
    assert store.schedulers.list() == []


def notice(name: str, kind: str = "fail") -> Notice:
    return Notice(id=name, job="toxicity", channel="ops", payload={"text": name}, kind=kind)


def test_a_notice_is_taken_by_one_and_sent_once(store: Store, clock: Clock) -> None:
    """The same thing is not told twice, by whomever; one whose sender died is due again."""
    assert store.notices.add([notice("one"), notice("two")]) == 2
    assert store.notices.add([notice("one", kind="missed")]) == 0
    one, _ = store.notices.pending(MINUTE)
    assert store.notices.pending(MINUTE) == []
    store.notices.settle(one)
    clock.pass_(minutes=2)
    (two,) = store.notices.pending(MINUTE)
    assert (two.id, two.payload, two.attempts) == ("two", {"text": "two"}, 2)
    latest = store.notices.latest("toxicity", "", "ops", ["fail"])
    assert latest is not None
    assert latest.kind == "fail"
    assert store.notices.latest("toxicity", "support", "ops", ["fail"]) is None
    assert store.notices.latest("toxicity", "", "ops", ["missed"]) is None


def test_a_notice_that_cannot_be_sent_is_tried_again_and_then_given_up(store: Store, clock: Clock) -> None:
    """With growing pauses; in the end it is counted as dead, not lost from sight."""
    store.notices.add([notice("one")])
    for _ in range(GIVEN_UP_AFTER):
        clock.pass_(minutes=11)
        (tried,) = store.notices.pending(MINUTE)
        store.notices.settle(tried, "no route to host")
        assert store.notices.pending(MINUTE) == []
    clock.pass_(days=1)
    assert store.notices.pending(MINUTE) == []
    assert store.notices.counts() == {"dead": 1}
