"""Observations that may be calls, and those of them with the smallest keys."""

import math
import re
from collections.abc import Iterable
from operator import itemgetter
from typing import NamedTuple

from tracehooks.exporters.langfuse.columns import Row
from tracehooks.exporters.langfuse.filters import apparent_name
from tracehooks.sampling import KEYS
from tracehooks.scoring.heads import CallHead

ALL = b"\xff" * 33  # greater than every key
_KEY = itemgetter(0)
_WEB = re.compile(r"(?:HTTP )?(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\b|HTTP\b")


class Candidate(NamedTuple):
    """An observation that may be a call, or be above some. ``quiet`` ones count only if they are."""

    key: bytes
    trace_id: str
    span_id: str
    name: str
    start: str
    parent: str | None
    is_top: bool
    quiet: bool

    @property
    def head(self) -> CallHead:
        """What planning needs of it."""
        return CallHead(self.trace_id, self.span_id, self.name)


class Reservoir:
    """The rows with the smallest keys among any number; all of a trace, or none of it."""

    def __init__(self, most: int | None, cut: bytes) -> None:
        self._most, self.cut = most, cut
        self.was_cut = False
        self.eligible = 0
        self._kept: list[Candidate] = []

    def add(self, candidates: Iterable[Candidate]) -> None:
        """Take some whose keys are below ``cut``."""
        self._kept += candidates
        if self._most is not None and len(self._kept) > self._most + self._most // 2 + 100:
            self._trim()

    def candidates(self) -> list[Candidate]:
        """What was kept, by key, trace and span."""
        self._trim()
        return sorted(self._kept)

    def _trim(self) -> None:
        self._kept.sort(key=_KEY)  # the rest of the order can wait
        if self._most is not None and len(self._kept) > self._most:
            self.cut, self.was_cut = self._kept[self._most].key, True
            self._kept = [each for each in self._kept[: self._most] if each.key < self.cut]


def cut_of(rate: float | None) -> bytes:
    """The first six bytes that no key of a sample of ``rate`` reaches; ALL for no rate, or for 1."""
    bound = KEYS if rate is None else math.ceil(rate * KEYS)
    return ALL if bound >= KEYS else bound.to_bytes(6, "big")


def candidate_of(row: Row, key: bytes, *, is_top: bool = False) -> Candidate:
    """The row as a candidate with this key."""
    return Candidate(
        key,
        row["traceId"],
        row["id"],
        apparent_name(str(row.get("name") or "")),
        row["startTime"],
        row.get("parentObservationId") or None,
        is_top,
        is_top and is_quiet(row),
    )


def is_quiet(row: Row) -> bool:
    """Whether it looks like a web framework's span."""
    return _WEB.match(row.get("name") or "") is not None
