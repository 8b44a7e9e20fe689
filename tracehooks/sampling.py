"""Which calls are looked at: decided from the trace id alone, so that every process and restart agrees.

The key of a trace is the first 6 bytes of sha256(salt + trace id), big-endian. A rate keeps keys below
``rate * 2**48``; a sample of n keeps the n smallest keys, so that a smaller sample lies inside a larger one.
A hook's salt is empty and a job's is its name, so that the night does not draw what the hooks drew.
"""

import hashlib
import heapq
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
KEYS = 2**48


def sampling_key(trace_id: str, salt: str = "") -> int:
    """The place of a trace in the order of sampling, in 0 .. 2**48 - 1."""
    return int.from_bytes(hashlib.sha256((salt + trace_id).encode()).digest()[:6], "big")


def checked_rate(rate: object, name: str = "rate") -> float:
    """``rate`` as a float in 0..1. Raises ValueError for NaN, True, strings and numbers outside."""
    if isinstance(rate, bool) or not isinstance(rate, int | float) or math.isnan(rate) or not 0 <= rate <= 1:
        raise ValueError(f"{name} must be a number from 0 to 1, got {rate!r}")
    return float(rate)


def in_sample(trace_id: str, rate: float, salt: str = "") -> bool:
    """Whether a sample of ``rate`` (0..1) holds this trace: never at 0, always at 1."""
    return sampling_key(trace_id, salt) / KEYS < rate


@dataclass(frozen=True, slots=True)
class Drawn(Generic[T]):
    """One drawn item, with the probability that it had to be drawn."""

    item: T
    probability: float
    stratum: str = ""


class Sampler(Generic[T]):
    """Draws from a stream in memory that the sample, not the stream, decides.

    ``trace_id`` gives an item's trace; ``tie`` a unique order among items of one trace; ``stratum`` its
    stratum (one for all by default). Give ``size`` (shared equally among the strata) or ``rate``; neither
    takes everything. What is not drawn goes to ``rejected`` as soon as that is certain.
    """

    def __init__(
        self,
        *,
        salt: str,
        trace_id: Callable[[T], str],
        tie: Callable[[T], str],
        size: int | None = None,
        rate: float | None = None,
        stratum: Callable[[T], str] = lambda item: "",
        rejected: Callable[[T], None] = lambda item: None,
    ) -> None:
        self._salt, self._size, self._rate = salt, size, None if rate is None else checked_rate(rate)
        self._trace_id, self._tie, self._stratum, self._rejected = trace_id, tie, stratum, rejected
        self._heaps: dict[str, list[tuple[int, _Reversed, T]]] = {}
        self._seen: Counter[str] = Counter()

    def offer(self, item: T) -> None:
        """Look at one item of the stream."""
        stratum = self._stratum(item)
        self._seen[stratum] += 1
        trace_id = self._trace_id(item)
        key = sampling_key(trace_id, self._salt)
        if self._rate is not None and key / KEYS >= self._rate:
            self._rejected(item)
            return
        heap = self._heaps.setdefault(stratum, [])
        # negative key and reversed tie make the heap's head the largest of the smallest
        heapq.heappush(heap, (-key, _Reversed((trace_id, self._tie(item))), item))
        # a stratum can never be granted more than the whole size
        if self._size is not None and len(heap) > self._size:
            self._rejected(heapq.heappop(heap)[2])

    def drawn(self) -> list[Drawn[T]]:
        """The sample, in the order of its keys. Call once, at the end of the stream."""
        shares = self._shares()
        result = []
        for stratum, heap in sorted(self._heaps.items()):
            while len(heap) > shares[stratum]:
                self._rejected(heapq.heappop(heap)[2])
            probability = len(heap) / self._seen[stratum] if self._rate is None else self._rate
            ordered = sorted(heap, key=lambda entry: (-entry[0], entry[1].value))
            result += [Drawn(entry[2], probability, stratum) for entry in ordered]
        return result

    def _shares(self) -> dict[str, int]:
        if self._size is None:
            return {stratum: len(heap) for stratum, heap in self._heaps.items()}
        return equal_shares({stratum: len(heap) for stratum, heap in self._heaps.items()}, self._size)


class _Reversed:
    """Orders the other way round."""

    __slots__ = ("value",)

    def __init__(self, value: tuple[str, str]) -> None:
        self.value = value

    def __lt__(self, other: "_Reversed") -> bool:
        return self.value > other.value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Reversed) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)


H = TypeVar("H", bound=Hashable)


def equal_shares(sizes: dict[H, int], total: int) -> dict[H, int]:
    """Share ``total`` among groups as equally as their sizes allow; what a small one leaves, others get."""
    shares: dict[H, int] = {}
    left = total
    for index, (group, size) in enumerate(sorted(sizes.items(), key=lambda pair: (pair[1], str(pair[0])))):
        shares[group] = min(size, left // (len(sizes) - index))
        left -= shares[group]
    return shares


def sample_by_rate(trace_ids: Iterable[str], rate: float, salt: str = "") -> list[str]:
    """Those of ``trace_ids`` that a sample of ``rate`` holds, in their order."""
    rate = checked_rate(rate)
    return [trace_id for trace_id in trace_ids if in_sample(trace_id, rate, salt)]
