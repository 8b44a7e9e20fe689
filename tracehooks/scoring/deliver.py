"""The deliverer: empties the outbox into the sinks, and notes what each sink said."""

import logging
import time
from collections.abc import Mapping
from datetime import timedelta
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from tracehooks.errors import ConfigurationError
from tracehooks.judges.untraced import untraced
from tracehooks.protocols import Delivery, Receipt, ScoreSink

if TYPE_CHECKING:
    from tracehooks.settings import Settings
    from tracehooks.store import Store

logger = logging.getLogger("tracehooks")

BATCH = 100
LEASE = timedelta(seconds=60)
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


class Deliverer:
    """Hands the outbox to the sinks in batches. A sink that fails keeps its rows for later."""

    def __init__(self, store: "Store", sinks: Mapping[str, ScoreSink], *, owner: str) -> None:
        self._store, self._sinks, self._owner = store, sinks, owner

    def deliver(self, timeout: float | None = None) -> bool:
        """Deliver what is due within ``timeout`` seconds. True when nothing that was due is left."""
        end = None if timeout is None else time.monotonic() + timeout
        emptied = [self._empty(name, sink, end) for name, sink in self._sinks.items()]
        return all(emptied)

    def _empty(self, name: str, sink: ScoreSink, end: float | None) -> bool:
        while end is None or time.monotonic() < end:
            deliveries = self._store.outbox.pending(name, BATCH, self._owner, LEASE)
            if not deliveries:
                return True
            receipts = _receipts(name, sink, deliveries)
            self._store.outbox.settle(name, receipts, deliveries)
            if not any(receipt.accepted for receipt in receipts):
                return False
        return False


def _receipts(name: str, sink: ScoreSink, deliveries: list[Delivery]) -> list[Receipt]:
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
