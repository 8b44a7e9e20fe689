"""Writes that take their time to show."""

import heapq
import itertools
from collections.abc import Callable


class Delayed:
    """Runs each write once its time has come, in the order of their times."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float, int, Callable[[], None]]] = []
        self._count = itertools.count()
        self.done = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, due: float, write: Callable[[], None]) -> None:
        heapq.heappush(self._waiting, (due, next(self._count), write))

    def settle(self, now: float) -> None:
        """Does all that is due at ``now``."""
        while self._waiting and self._waiting[0][0] <= now:
            heapq.heappop(self._waiting)[2]()
            self.done += 1
