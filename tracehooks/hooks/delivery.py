"""The outbox on its way into one sink, on a thread of its own: a sink that hangs holds up no other."""

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from time import monotonic
from typing import TYPE_CHECKING

from tracehooks.protocols import Delivery, Receipt, ScoreSink
from tracehooks.scoring.coordinator import this_owner
from tracehooks.scoring.deliver import Deliverer
from tracehooks.worker import BackgroundWorker

if TYPE_CHECKING:
    from tracehooks.store import Store

logger = logging.getLogger("tracehooks")

PASS_SECONDS = 30.0  # that one pass over the outbox takes at most
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 60.0  # seconds before another pass when something is left


class SinkDelivery:
    """Delivers what is due to ``sink`` when woken, and again after a pause while something is left.

    ``using()`` lends the store. What is not delivered waits in the store, where any later process finds it.
    """

    def __init__(
        self, name: str, sink: ScoreSink, using: Callable[[], AbstractContextManager["Store"]]
    ) -> None:
        self.left = 0
        self._name, self._using = name, using
        self._sink = _Guarded(name, sink)
        self._woken = self._closed = False
        self._pause = FIRST_PAUSE
        self._timer: threading.Timer | None = None
        self._worker: BackgroundWorker[None] = BackgroundWorker(
            f"delivery-{name}", self._deliver, max_queue=1, max_batch=1, interval=0.01
        )

    def start(self) -> None:
        """Start the thread, while the interpreter still starts any."""
        self._worker.start()

    def wake(self) -> None:
        """Something was committed."""
        self._woken = True
        self._worker.put(None)

    def flush(self, timeout: float) -> bool:
        """Try to deliver everything now; True only if ``timeout`` seconds were enough and nothing is left.

        Also False, once, when the sink has refused something for good since the last flush.
        """
        if not self._woken:
            return True
        refused, self._sink.refused = self._sink.refused, 0
        end = monotonic() + timeout
        self._worker.put(None)
        done = self._worker.flush(max(0.0, end - monotonic()))
        refused, self._sink.refused = refused + self._sink.refused, 0
        return done and self.left == 0 and refused == 0

    def look(self) -> None:
        """Count anew what is left, also while the sink is at work."""
        with self._using() as store:
            self.left = store.outbox.waiting(self._name, this_owner())

    def close(self, timeout: float) -> bool:
        """The same, and stop."""
        done = self.flush(timeout)
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._worker.close(0)
        return done

    def _deliver(self, _: list[None]) -> None:
        owner = this_owner()
        self.left = max(1, self.left)  # until it is known better
        self.look()  # a sink that hangs keeps us from counting afterwards
        with self._using() as store:
            Deliverer(store, {self._name: self._sink}, owner=owner).deliver(PASS_SECONDS)
            self.left = store.outbox.waiting(self._name, owner)
            unseen = self._sink.confirms and store.outbox.wait(self._name, "accepted") is not None
        if not self.left:
            self._pause = FIRST_PAUSE
        if self.left or unseen:
            self._try_later()

    def _try_later(self) -> None:
        if self._closed or (self._timer is not None and self._timer.is_alive()):
            return
        self._timer = threading.Timer(self._pause, self._worker.put, (None,))
        self._timer.daemon = True
        self._timer.start()
        self._pause = min(2 * self._pause, LONGEST_PAUSE)


class _Guarded:
    """A sink that never raises: a failure is one warning and no receipt, and what it refuses is counted."""

    def __init__(self, name: str, sink: ScoreSink) -> None:
        self.refused = 0
        self._name, self._sink = name, sink
        self._failing = False
        self.confirms = hasattr(sink, "confirm")
        for option in ("confirm", "confirm_after", "senders", "batch", "takes_rows"):
            if hasattr(sink, option):
                setattr(self, option, getattr(sink, option))

    def deliver(self, scores: Sequence[Delivery]) -> list[Receipt]:
        try:
            receipts = list(self._sink.deliver(scores))
        except Exception as error:
            self._warn(len(scores), f"{type(error).__name__}: {error}")
            return [_not_now(score, f"{type(error).__name__}: {error}") for score in scores]
        failed = [receipt for receipt in receipts if not receipt.accepted]
        self.refused += sum(not receipt.retry for receipt in failed)
        if failed:
            self._warn(len(failed), str(failed[0].error))
        elif receipts:
            self._failing = False
        return receipts

    def _warn(self, count: int, error: str) -> None:
        if not self._failing:
            self._failing = True
            logger.warning("sink %s did not take %d scores: %s", self._name, count, error)


def _not_now(score: Delivery, error: str) -> Receipt:
    return Receipt(id=score.id, accepted=False, error=error)
