"""What a window holds, told from the listings alone: how many calls there are, and whose keys are smallest.

Two listings are read. *Agents* are the observations that Langfuse types as one, at any depth. *Tops* are what
is at the top of a trace that no such agent is in: an application's own entry, a graph, a lone request to a
model; or the web framework's span above an agent that an older server does not know as one. A web framework's
span is followed up when it is drawn, and not counted until it turns out to hold a call.

Of each call eight bytes are kept, of the few with the smallest keys more: memory follows the sample, and not
the window. Of calls in traces that are not drawn the listing decides how many they are; an agent directly
below another one is no call of its own.
"""

import math
import re
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple

from tracehooks.exporters.langfuse.filters import apparent_name
from tracehooks.sampling import KEYS
from tracehooks.scoring.drawing import DrawRequest
from tracehooks.scoring.heads import CallHead

Row = Mapping[str, Any]

NEVER = timedelta(days=1)  # an observation that is open for longer will never be ended
ALL = b"\xff" * 33  # greater than every key
UNENDED = "~"  # greater than every time
_WEB = re.compile(r"(?:HTTP )?(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\b|HTTP\b")
_TRACE_ID, _SPAN_ID = re.compile(r"[0-9a-f]{32}"), re.compile(r"[0-9a-f]{16}")


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
    """The candidates with the smallest keys among any number; all of a trace, or none of it."""

    def __init__(self, most: int | None, cut: bytes) -> None:
        self._most, self.cut = most, cut
        self.was_cut = False
        self.eligible = 0
        self._kept: list[Candidate] = []

    def add(self, candidate: Candidate) -> None:
        """Take one whose key is below ``cut``."""
        self._kept.append(candidate)
        if self._most is not None and len(self._kept) > 2 * self._most + 100:
            self._trim()

    def candidates(self) -> list[Candidate]:
        """What was kept, by key."""
        self._trim()
        return self._kept

    def _trim(self) -> None:
        self._kept.sort()
        if self._most is not None and len(self._kept) > self._most:
            self.cut, self.was_cut = self._kept[self._most].key, True
            self._kept = [each for each in self._kept[: self._most] if each.key < self.cut]


@dataclass(slots=True)
class Survey:
    """Takes in the pages of both listings. ``passes`` are the settings' filters, None for none.

    ``most`` bounds how many candidates are kept (of each agent, where the sample is stratified).
    """

    request: DrawRequest
    passes: Callable[[Row], bool] | None
    left_out: Callable[[Any], bool]
    most: int | None
    late: int = 0
    unaddressable: int = 0
    deferred: list[CallHead] = field(default_factory=list)
    listed: "array[int]" = field(default_factory=lambda: array("Q"))
    _reservoirs: dict[str, Reservoir] = field(default_factory=dict)
    _agents: "array[int]" = field(default_factory=lambda: array("Q"))
    _parents: "array[int]" = field(default_factory=lambda: array("Q"))
    _traces: "array[int]" = field(default_factory=lambda: array("Q"))
    _before: set[str] = field(default_factory=set)

    def take_agents(self, pages: Iterable[Sequence[Row]]) -> None:
        """All pages of the listing of agents."""
        self._before = set()
        for page in pages:
            rows = self._admitted(page)
            self._traces.extend(_keys(row["traceId"] for row in rows))
            self._agents.extend(_keys(row["id"] for row in rows))
            rows = self._due(rows, lambda row: int(row["id"], 16))
            self.listed.extend(_keys(row["id"] for row in rows))
            parents = [parent for row in rows if (parent := row.get("parentObservationId"))]
            self._parents.extend(_keys(parents) if _are_span_ids(parents) else map(_key, parents))
            self._offer(rows)

    def take_tops(self, pages: Iterable[Sequence[Row]]) -> None:
        """All pages of the listing of tops, after that of agents."""
        self._before, with_agents = set(), set(self._traces)
        for page in pages:
            rows = [row for row in self._admitted(page) if _trace_key(row) not in with_agents]
            rows = self._due(rows, _trace_key)
            self.listed.extend(_trace_key(row) for row in rows)
            self._offer(rows, are_tops=True)

    def strata(self) -> Iterator[tuple[str, Reservoir, list[Candidate]]]:
        """Each stratum with its candidates by key; those below another agent are left out."""
        agents = frozenset(self._agents) if self._parents else frozenset()
        nested = sum(parent in agents for parent in self._parents)
        for name, reservoir in sorted(self._reservoirs.items()):
            kept = reservoir.candidates()
            found = [each for each in kept if each.parent is None or _key(each.parent) not in agents]
            # where strata are told apart, the kept ones have to stand for all that lie below others
            below = nested if len(self._reservoirs) == 1 else len(kept) - len(found)
            reservoir.eligible = max(sum(not each.quiet for each in found), reservoir.eligible - below)
            nested -= below
            yield name, reservoir, found

    def _admitted(self, page: Sequence[Row]) -> list[Row]:
        """The rows that count, each once. Rows that come twice are neighbours, or on two pages in a row."""
        start, end = written(self.request.start), written(self.request.end)
        rows = [row for row in page if start <= row["startTime"] < end]
        if not _all_addressable(rows):
            known = len(rows)
            rows = [row for row in rows if _addressable(row)]
            self.unaddressable += known - len(rows)
        if any(self.left_out(each) for each in {row.get("environment") for row in rows}):
            rows = [row for row in rows if not self.left_out(row.get("environment"))]
        if self.passes is not None:
            rows = [row for row in rows if self.passes(row)]
        ids = {row["id"]: row for row in rows}
        if len(ids) < len(rows) or not self._before.isdisjoint(ids):
            rows = [row for key, row in ids.items() if key not in self._before]
        self._before = set(ids)
        return rows

    def _due(self, rows: list[Row], key: Callable[[Row], int]) -> list[Row]:
        """The rows that are decided about now: neither open, nor too young, nor seen by an earlier run."""
        settled, never = written(self.request.settled), written(self.request.settled - NEVER)
        window_start = written(self.request.window_start)
        if any((row.get("endTime") or UNENDED) > settled for row in rows):
            waiting = [row for row in rows if waits(row, settled, never)]
            self.deferred += [_candidate(row, b"").head for row in waiting]
            rows = [row for row in rows if not waits(row, settled, never)]
        if rows and rows[-1]["startTime"] < window_start:
            rows = [
                row for row in rows if row["startTime"] >= window_start or not self.request.was_seen(key(row))
            ]
            self.late += sum(row["startTime"] < window_start for row in rows)
        return rows

    def _offer(self, rows: list[Row], *, are_tops: bool = False) -> None:
        if self.request.stratified:
            for row in rows:
                self._offer_to(self._reservoir(apparent_name(str(row.get("name") or ""))), [row], are_tops)
        elif rows:
            self._offer_to(self._reservoir(""), rows, are_tops)

    def _offer_to(self, reservoir: Reservoir, rows: Sequence[Row], are_tops: bool) -> None:
        salt = self.request.salt
        keys = [sha256((salt + row["traceId"]).encode()).digest() for row in rows]
        reservoir.eligible += len(rows)
        if are_tops:
            reservoir.eligible -= sum(_is_quiet(row) for row in rows)
        for key, row in zip(keys, rows, strict=True):
            if key < reservoir.cut:
                reservoir.add(_candidate(row, key, is_top=are_tops))

    def _reservoir(self, name: str) -> Reservoir:
        if name not in self._reservoirs:
            self._reservoirs[name] = Reservoir(self.most, cut_of(self.request.rate))
        return self._reservoirs[name]


def cut_of(rate: float | None) -> bytes:
    """The first six bytes that no key of a sample of ``rate`` reaches; ALL for no rate, or for 1."""
    bound = KEYS if rate is None else math.ceil(rate * KEYS)
    return ALL if bound >= KEYS else bound.to_bytes(6, "big")


def written(time: datetime) -> str:
    """``time`` as Langfuse writes times, to the millisecond, never later than it is."""
    time = time.astimezone(UTC)
    return f"{time:%Y-%m-%dT%H:%M:%S}.{time.microsecond // 1000:03d}Z"


def _candidate(row: Row, key: bytes, *, is_top: bool = False) -> Candidate:
    return Candidate(
        key,
        row["traceId"],
        row["id"],
        apparent_name(str(row.get("name") or "")),
        row["startTime"],
        row.get("parentObservationId") or None,
        is_top,
        is_top and _is_quiet(row),
    )


def _is_quiet(row: Row) -> bool:
    """Whether it looks like a web framework's span."""
    return _WEB.match(row.get("name") or "") is not None


def waits(row: Row, settled: str, never: str) -> bool:
    """Whether an observation is open, or ended after ``settled``. One open since ``never`` stays so."""
    end = row.get("endTime")
    return bool(end > settled) if end else bool(row["startTime"] > never)


def _key(span_id: str) -> int:
    return int(span_id, 16) if _SPAN_ID.fullmatch(span_id) else 0


def _are_span_ids(ids: Sequence[str]) -> bool:
    text = "".join(ids)
    return len(text) == 16 * len(ids) and not text.strip("0123456789abcdef")


def _trace_key(row: Row) -> int:
    return int(row["traceId"][:16], 16)


def _keys(ids: Iterable[str]) -> "array[int]":
    """The first eight bytes of each id, as numbers."""
    keys = array("Q")
    keys.frombytes(bytes.fromhex("".join([each[:16] for each in ids])))
    if sys.byteorder == "little":
        keys.byteswap()
    return keys


def _addressable(row: Row) -> bool:
    """Whether its ids are OpenTelemetry's: nothing else can be scored."""
    return bool(_TRACE_ID.fullmatch(row["traceId"] or "") and _SPAN_ID.fullmatch(row["id"]))


def _all_addressable(rows: Sequence[Row]) -> bool:
    """The same of many rows at once."""
    ids = "".join([row["id"] for row in rows]) + "".join([row["traceId"] or "" for row in rows])
    if len(ids) != 48 * len(rows) or ids != ids.lower() or not (ids.isalnum() or not rows):
        return False
    try:
        return len(bytes.fromhex(ids)) == 24 * len(rows)
    except ValueError:
        return False
