"""Draws that are the same for a seed on every machine and Python version, whatever was drawn elsewhere."""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """A source of draws, seeded with any number of texts and numbers."""

    def __init__(self, *seed: str | int) -> None:
        self._seed = "|".join(map(str, seed))
        self._drawn = 0

    def below(self, limit: int) -> int:
        """A whole number from 0 to ``limit`` - 1."""
        self._drawn += 1
        digest = hashlib.sha256(f"{self._seed}|{self._drawn}".encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8], "big") % limit

    def pick(self, options: Sequence[T]) -> T:
        """One of ``options``."""
        return options[self.below(len(options))]

    def chance(self, share: float) -> bool:
        """True in ``share`` of the draws."""
        return self.below(10_000) < share * 10_000

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """``options`` in another order, or the same."""
        left, order = list(options), []
        while left:
            order.append(left.pop(self.below(len(left))))
        return order

    def sample(self, options: Sequence[T], size: int) -> list[T]:
        """``size`` different ones of ``options``, or all of them if there are no more."""
        return self.shuffled(options)[:size]
