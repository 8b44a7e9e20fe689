"""Which stored spans some backends are still to get, told while they are stored.

The store and each backend get a span on threads of their own, in either order. What a backend has got before
the store had it is remembered here until then, so that the store never notes it as waiting for good.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tracehooks.exporters.stored_spans import CARRIED
from tracehooks.store.unsent import Place, Unsent

MOST_EARLY = 10_000  # spans that a backend may have before the store does; most queues hold far fewer


class Awaited:
    """``backends`` has, by name, what only this process knows of all its spans (a release, for instance)."""

    def __init__(self, backends: Mapping[str, Mapping[str, Any]]) -> None:
        self._backends = {name: {CARRIED: dict(said)} if said else {} for name, said in backends.items()}
        self._early: dict[str, OrderedDict[Place, None]] = {name: OrderedDict() for name in backends}
        self.renew_lock()

    def renew_lock(self) -> None:
        """In a forked child: another thread of the parent may have held it."""
        self._lock = threading.Lock()

    def unsent(self, rests: Mapping[Place, Mapping[str, Any]]) -> list[Unsent]:
        """What waits of the spans that are stored now, given as {place: rest}."""
        with self._lock:
            return [
                Unsent(name, *place, rest={**rest, **carried})
                for name, carried in self._backends.items()
                for place, rest in rests.items()
                if place not in self._early[name]
            ]

    def taken(self, backend: str, places: Sequence[Place]) -> None:
        """``backend`` has these: to be told before the store is."""
        with self._lock:
            early = self._early[backend]
            early.update(dict.fromkeys(places))
            while len(early) > MOST_EARLY:
                early.popitem(last=False)

    def settled(self, backend: str, places: Iterable[Place]) -> None:
        """The store knows that ``backend`` has these."""
        with self._lock:
            for place in places:
                self._early[backend].pop(place, None)

    def stored(self, places: Iterable[Place]) -> None:
        """The store has these now; what was early of them is so no more."""
        for backend in self._early:
            self.settled(backend, places)
