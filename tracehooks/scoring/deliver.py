"""The deliverer: empties the outbox into the sinks, and notes what each sink said."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from enum import Enum, auto
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from tracehooks.errors import ConfigurationError
from tracehooks.judges.untraced import untraced
from tracehooks.protocols import Receipt, RowSink, ScoreSink
from tracehooks.scoring.coordinator import is_dead
from tracehooks.scoring.resending import Resender

if TYPE_CHECKING:
    from tracehooks.settings import Settings
    from tracehooks.store import Store
    from tracehooks.store.outbox import Claimable

logger = logging.getLogger("tracehooks")

BATCH = 100
LEASE = timedelta(seconds=60)
SPANS_SHARE = 0.5  # of the time of a pass, that spans may take before the scores
GROUP = "tracehooks.sinks"


def load_sinks(settings: "Settings") -> dict[str, ScoreSink]:
    """The sinks that the settings name, loaded through the entry points of ``tracehooks.sinks``.

    Raises ConfigurationError for a name that no installed package offers.
    """
    known = {point.name: point for point in entry_points(group=GROUP)}
    for name in settings.sinks:
        if name not in known:
            raise ConfigurationError(
                f"sinks: no sink is named {name!r}; known are {', '.join(sorted(known))}"
            )
    return {name: known[name].load().from_settings(settings) for name in settings.sinks}


def all_results(sinks: Mapping[str, ScoreSink]) -> tuple[str, ...]:
    """Those of ``sinks`` that also want what has no value: they say so by ``wants_unscored = True``."""
    return tuple(name for name, sink in sinks.items() if getattr(sink, "wants_unscored", False))


def unwanted(sinks: Mapping[str, ScoreSink]) -> dict[str, frozenset[str]]:
    """The names of scores that ``sinks`` are not to get, by sink: what they say by ``unwanted``."""
    named = {name: frozenset(getattr(sink, "unwanted", ())) for name, sink in sinks.items()}
    return {name: names for name, names in named.items() if names}


class Deliverer:
    """Hands the outbox to the sinks in batches. A sink that fails keeps its rows for later.

    ``progress`` is called after each batch with the number of scores that it settled. ``spans`` sends what
    backends did not get of the spans, before the scores that are about them.
    """

    def __init__(
        self,
        store: "Store",
        sinks: Mapping[str, ScoreSink | RowSink],
        *,
        owner: str,
        progress: Callable[[int], None] = lambda count: None,
        spans: Resender | None = None,
    ) -> None:
        self._store, self._sinks, self._owner, self._progress = store, sinks, owner, progress
        self._spans = spans

    def deliver(self, timeout: float | None = None) -> bool:
        """Deliver what is due within ``timeout`` seconds. True when nothing that was due is left.

        What was accepted, and is due to be looked for, is looked for too, once.
        """
        end = None if timeout is None else time.monotonic() + timeout
        if self._spans is not None:
            self._spans.resend(None if timeout is None else SPANS_SHARE * timeout)
        emptied = [self._empty(name, sink, end) for name, sink in self._sinks.items()]
        for name, sink in self._sinks.items():
            self._look(name, sink, end)
        return all(emptied)

    def confirm(self, timeout: float) -> bool:
        """Look for what was accepted until all of it is confirmed. False when ``timeout`` was not enough."""
        end = time.monotonic() + timeout
        while self._wait_for_accepted(end):
            if not all(self._look(name, sink, end) for name, sink in self._sinks.items()):
                return False
        return self._wait() is None

    def _take_over(self, name: str, state: "Claimable") -> None:
        """Take what a sender held that is no more, without waiting for its lease to end."""
        for owner in self._store.outbox.owners(name, state):
            if is_dead(owner):
                count = self._store.outbox.release_owner(name, state, owner)
                logger.info("took over %d deliveries of %s, which is gone", count, owner)

    def _wait_for_accepted(self, end: float) -> bool:
        """Wait until something is due to be looked for; False when nothing is, or not in time."""
        wait = self._wait()
        if wait is None or time.monotonic() + wait >= end:
            return False
        time.sleep(wait)
        return True

    def _wait(self) -> float | None:
        """Seconds until something is due to be looked for; None when nothing will be."""
        confirming = [name for name, sink in self._sinks.items() if hasattr(sink, "confirm")]
        found = (self._store.outbox.wait(name, "accepted") for name in confirming)
        return min((wait for wait in found if wait is not None), default=None)

    def _empty(self, name: str, sink: ScoreSink | RowSink, end: float | None) -> bool:
        """Deliver what is due; by several threads where the sink allows it and one batch is not all."""
        self._take_over(name, "pending")
        first = self._batch(name, sink)
        if first is not Batch.FULL:
            return first is Batch.LAST
        results = [False] * getattr(sink, "senders", 1)

        def send(number: int) -> None:
            while end is None or time.monotonic() < end:
                outcome = self._batch(name, sink)
                if outcome is not Batch.FULL:
                    results[number] = outcome is Batch.LAST
                    return

        try:
            others = [_started(send, number) for number in range(1, len(results))]
        except RuntimeError:  # on its way out the interpreter starts no threads
            others, results[1:] = [], []
        send(0)
        for thread in others:
            thread.join(None if end is None else max(0.0, end - time.monotonic()))
        return all(results)

    def _batch(self, name: str, sink: ScoreSink | RowSink) -> "Batch":
        deliveries = self._take("pending", name, sink)
        if not deliveries:
            return Batch.LAST
        receipts = _receipts(name, sink, deliveries)
        after = getattr(sink, "confirm_after", timedelta(0))
        self._store.outbox.settle(name, receipts, deliveries, confirm_after=after)
        accepted = any(receipt.accepted for receipt in receipts)
        self._progress(sum(receipt.accepted or not receipt.retry for receipt in receipts))
        if not accepted and any(receipt.retry for receipt in receipts):
            return Batch.FAILED
        return Batch.FULL if len(deliveries) == _batch_of(sink) else Batch.LAST

    def _take(self, state: "Claimable", name: str, sink: ScoreSink | RowSink) -> Sequence[Any]:
        """Rows for a sink that takes them, else deliveries."""
        outbox, terms = self._store.outbox, (_batch_of(sink), self._owner, LEASE)
        if getattr(sink, "takes_rows", False):
            return outbox.rows(state, name, *terms)
        return outbox.pending(name, *terms) if state == "pending" else outbox.accepted(name, *terms)

    def _look(self, name: str, sink: ScoreSink | RowSink, end: float | None) -> bool:
        """Look for what was accepted and is due; False when it could not be looked for."""
        if not hasattr(sink, "confirm"):
            return True
        self._take_over(name, "accepted")
        while end is None or time.monotonic() < end:
            deliveries = self._take("accepted", name, sink)
            if not deliveries:
                return True
            try:
                with untraced():
                    found = sink.confirm(deliveries)
            except Exception as error:
                # the lease says when they are looked for again
                logger.info("sink %s: %d scores could not be looked for: %s", name, len(deliveries), error)
                return False
            self._store.outbox.settle_read_backs(name, found, deliveries)
            self._progress(0)
        return True


class Batch(Enum):
    """How sending one batch ended: more may be due, no more was due, or the sink took nothing."""

    FULL = auto()
    LAST = auto()
    FAILED = auto()


def _batch_of(sink: ScoreSink | RowSink) -> int:
    return int(getattr(sink, "batch", BATCH))


def _started(work: Callable[[int], None], number: int) -> threading.Thread:
    """A daemon thread at ``work``: a sink that hangs must not keep the process from ending."""
    thread = threading.Thread(target=work, args=(number,), name="tracehooks-sender", daemon=True)
    thread.start()
    return thread


def _receipts(name: str, sink: ScoreSink | RowSink, deliveries: Sequence[Any]) -> list[Receipt]:
    try:
        with untraced():  # what a sink sends is no work of the application's
            receipts = {receipt.id: receipt for receipt in sink.deliver(deliveries)}
    except Exception as error:
        logger.warning("sink %s failed, %d scores wait: %s", name, len(deliveries), error)
        receipts = {}
        missing = f"{type(error).__name__}: {error}"
    else:
        missing = "the sink gave no receipt"
    return [receipts.get(one.id) or Receipt(id=one.id, accepted=False, error=missing) for one in deliveries]
