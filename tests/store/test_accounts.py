from datetime import timedelta

from tests.store.making import Clock
from tracehooks.store import Store
from tracehooks.store.accounts import Allowance, Hold, NoRoom, Spent

RUN = Allowance(scope="run:1", nanos=100, tokens=1000)
DAY = Allowance(scope="day:1", calls=3)
MOST = Spent(calls=1, input_tokens=30, output_tokens=10, nanos=40)
USED = Spent(calls=1, input_tokens=20, output_tokens=5, nanos=15)
LONG = timedelta(minutes=1)


def _held(found: Hold | NoRoom) -> Hold:
    assert isinstance(found, Hold)
    return found


def test_what_is_held_is_not_free(store: Store) -> None:
    """Two requests of 40 fit into 100; the third waits until one of them is settled."""
    first = _held(store.accounts.reserve([RUN, DAY], MOST, LONG))
    _held(store.accounts.reserve([RUN, DAY], MOST, LONG))
    full = store.accounts.reserve([RUN, DAY], MOST, LONG)
    assert full == NoRoom(scope="run:1", limit="nanos", for_now=True)
    _held(store.accounts.reserve([RUN, DAY], MOST, LONG, [(first, USED)]))
    assert store.accounts.spent("run:1") == Spent(calls=3, input_tokens=20, output_tokens=5, nanos=15)


def test_nobody_waits_for_what_a_batch_holds(store: Store) -> None:
    """It is held for days: who finds the room taken by it is told so at once, who finds others waits."""
    for _ in range(2):
        _held(store.accounts.reserve([RUN], MOST, timedelta(days=2)))
    full = store.accounts.reserve([RUN], MOST, LONG)
    assert full == NoRoom(scope="run:1", limit="nanos", for_now=False)
    other = Allowance(scope="run:2", tokens=100)
    _held(store.accounts.reserve([other], MOST, timedelta(days=2)))
    _held(store.accounts.reserve([other], MOST, LONG))
    full = store.accounts.reserve([other], MOST, LONG)
    assert full == NoRoom(scope="run:2", limit="tokens", for_now=True)


def test_a_request_fits_into_all_accounts_or_none(store: Store) -> None:
    """The fourth call of a day leaves no trace in the run's account."""
    for _ in range(3):
        store.accounts.settle([(_held(store.accounts.reserve([RUN, DAY], MOST, LONG)), Spent(calls=1))])
    full = store.accounts.reserve([RUN, DAY], MOST, LONG)
    assert full == NoRoom(scope="day:1", limit="calls", for_now=False)
    assert store.accounts.spent("run:1").calls == 3


def test_what_nobody_settles_counts_in_full(store: Store, clock: Clock) -> None:
    """A killed process's request may have been charged; who settles it too late changes nothing."""
    lost = _held(store.accounts.reserve([RUN], MOST, LONG))
    clock.pass_(minutes=2)
    _held(store.accounts.reserve([RUN], MOST, LONG))
    assert store.accounts.spent("run:1").nanos == 40
    store.accounts.settle([(lost, USED)])
    assert store.accounts.spent("run:1").nanos == 40


def test_what_is_only_counted_has_no_limit(store: Store) -> None:
    """Charges add up."""
    store.accounts.charge(["run:1", "day:1"], USED)
    store.accounts.charge(["run:1"], USED)
    assert store.accounts.spent("run:1") == USED + USED
    assert store.accounts.spent("day:1") == USED


def test_what_was_never_sent_is_given_back_once(store: Store) -> None:
    """Tokens, money and the call are free again; a second time, or settled already, changes nothing."""
    holds = [_held(store.accounts.reserve([RUN, DAY], MOST, LONG)) for _ in range(2)]
    store.accounts.settle([(holds[0], USED)])
    for _ in range(2):
        store.accounts.release(holds)
    assert store.accounts.spent("run:1") == USED
    assert store.accounts.spent("day:1") == USED
    _held(store.accounts.reserve([Allowance(scope="run:1", nanos=55, tokens=65, calls=2)], MOST, LONG))
