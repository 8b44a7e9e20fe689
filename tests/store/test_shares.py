"""Shares: what all senders of a store may have together, divided among those that are there."""

from datetime import timedelta

from tests.store.making import Clock
from tracehooks.judges.sharing import News
from tracehooks.store import Store
from tracehooks.store.shares import fair_places


def _news(wanted: int, under_way: int = 0, **more: float) -> News:
    return News(most=16, wanted=wanted, under_way=under_way, **more)  # type: ignore[arg-type]


def test_places_go_to_those_who_want_them() -> None:
    """Nobody gets more than it wants; what does not divide goes to each in turn."""
    assert fair_places({"a": 16, "b": 1}, 16) == {"a": 15, "b": 1}
    assert fair_places({"a": 16, "b": 16, "c": 16}, 16) == {"a": 6, "b": 5, "c": 5}
    assert fair_places({"a": 2, "b": 3}, 16) == {"a": 2, "b": 3}
    assert [fair_places({"a": 4, "b": 4}, 1, turn) for turn in (0, 1)] == [
        {"a": 1, "b": 0},
        {"a": 0, "b": 1},
    ]
    assert fair_places({"a": 0}, 4) == {"a": 0}


def test_shares_never_exceed_what_is_allowed(store: Store) -> None:
    """Who comes later gets what the first leaves, once that one has heard of it and its requests are back."""
    first = store.shares.renew("j", "a", _news(16))
    assert (first.places, first.part, first.short) == (16, 1, False)
    second = store.shares.renew("j", "b", _news(16))
    assert (second.places, second.part, second.short) == (0, 0, True)
    assert store.shares.renew("j", "a", _news(16, under_way=12)).places == 8
    second = store.shares.renew("j", "b", _news(16))
    assert (second.places, second.part, second.short) == (4, 0.5, True)
    store.shares.renew("j", "a", _news(16, under_way=8))
    second = store.shares.renew("j", "b", _news(16))
    assert (second.places, second.part, second.short) == (8, 0.5, False)
    assert store.shares.renew("another model", "b", _news(16)).places == 16


def test_who_is_gone_gives_its_share_back(store: Store, clock: Clock) -> None:
    """At once when it leaves; after 15 seconds when it was killed."""
    store.shares.renew("j", "a", _news(16))
    store.shares.leave("j", "a")
    assert store.shares.renew("j", "b", _news(16)).places == 16
    clock.now += timedelta(seconds=14)
    assert store.shares.renew("j", "c", _news(16)).places == 0
    clock.now += timedelta(seconds=2)
    found = store.shares.renew("j", "c", _news(16))
    assert (found.places, found.part) == (16, 1)


def test_a_429_of_one_slows_all_and_answers_of_all_bring_it_back(store: Store, clock: Clock) -> None:
    """Halved once for a wave, with the wait that the server asked for; one more after so many answers."""
    store.shares.renew("j", "a", _news(8))
    store.shares.renew("j", "b", _news(8))
    clock.now += timedelta(seconds=5)
    cut = store.shares.renew("j", "a", _news(8, limited=2.0, wait=7.0))
    assert (cut.allowed, cut.held) == (8, 7)
    clock.now += timedelta(seconds=1)
    told = store.shares.renew("j", "b", _news(8, limited=4.0))
    assert (told.allowed, told.held, told.places) == (8, 6, 4)
    assert store.shares.renew("j", "b", _news(8, limited=0.5)).allowed == 4
    store.shares.renew("j", "a", _news(8, answered=3))
    assert store.shares.renew("j", "b", _news(8, answered=1)).allowed == 5
    assert store.shares.renew("j", "b", _news(8, answered=1000)).allowed == 16


def test_what_a_clock_noted_that_was_ahead_is_forgotten(store: Store, clock: Clock) -> None:
    """Set back by three hours, nobody waits for three hours, and a new 429 counts."""
    clock.pass_(hours=3)
    ahead = store.shares.renew("j", "a", _news(16, under_way=16, limited=0.0, wait=20))
    assert (ahead.allowed, ahead.held) == (8, 20)
    clock.pass_(hours=-3)
    share = store.shares.renew("j", "b", _news(16))
    assert (share.places, share.part, share.held) == (8, 1, 0)
    share = store.shares.renew("j", "b", _news(16, under_way=8, limited=0.0, wait=1))
    assert (share.allowed, share.held) == (4, 1)
