"""What a window holds, told from the listings alone: how many calls there are, and whose keys are smallest.

Two listings are read. *Agents* are the observations that Langfuse types as one, at any depth. *Tops* are what
is at the top of a trace that no such agent is in: an application's own entry, a graph, a lone request to a
model; or the web framework's span above an agent that an older server does not know as one. A web framework's
span is followed up when it is drawn, and not counted until it turns out to hold a call.

Of each call eight bytes are kept, of the few with the smallest keys more: memory follows the sample, and not
the window. Of calls in traces that are not drawn the listing decides how many they are; an agent directly
below another one is no call of its own.
"""

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tracehooks.exporters.langfuse.candidates import Candidate, Reservoir, candidate_of, cut_of, is_quiet
from tracehooks.exporters.langfuse.columns import Columns, Row, columns_of
from tracehooks.exporters.langfuse.filters import UNHEARD, apparent_name
from tracehooks.exporters.langfuse.observations import AGENT
from tracehooks.scoring.drawing import DrawRequest
from tracehooks.scoring.heads import CallHead

try:  # CPython's own: of texts as short as these half the price of OpenSSL's
    from _sha2 import sha256  # type: ignore[import-not-found,unused-ignore]
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        from hashlib import sha256

NEVER = timedelta(days=1)  # an observation that is open for longer will never be ended
_TRACE_ID, _SPAN_ID = re.compile(r"[0-9a-f]{32}"), re.compile(r"[0-9a-f]{16}")


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
    _before: frozenset[str] = frozenset()

    def take_agents(self, pages: Iterable[Sequence[Row]]) -> None:
        """All pages of the listing of agents."""
        self._before = frozenset()
        for page in pages:
            rows, columns = self._admitted(page, _is_agent)
            self._traces.extend(columns.trace_keys or ())
            self._agents.extend(columns.keys or ())
            rows, columns = self._due(rows, columns, columns.keys)
            self.listed.extend(columns.keys or ())
            if any(columns.parents):
                self._parents.extend(_key(parent) for parent in columns.parents if parent)
            self._offer(rows, columns)

    def take_tops(self, pages: Iterable[Sequence[Row]]) -> None:
        """All pages of the listing of tops, after that of agents."""
        self._before = frozenset()
        with_agents: frozenset[int] | None = None
        for page in pages:
            rows, columns = self._admitted(page, _is_top)
            if with_agents is None:
                with_agents = frozenset(self._traces)
            keys = columns.trace_keys or ()
            if not with_agents.isdisjoint(keys):
                rows = [row for row, key in zip(rows, keys, strict=True) if key not in with_agents]
                columns = columns_of(rows)
            rows, columns = self._due(rows, columns, columns.trace_keys)
            self.listed.extend(columns.trace_keys or ())
            self._offer(rows, columns, are_tops=True)

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

    def _admitted(self, page: Sequence[Row], of_kind: Callable[[Row], bool]) -> tuple[Sequence[Row], Columns]:
        """The rows that count, each once. Rows that come twice are neighbours, or on two pages in a row."""
        columns = columns_of(page)
        rows = page
        if not self._are_fine(page, columns, of_kind):
            rows = self._sorted_out(page, of_kind)
            columns = columns_of(rows)
        self._before = columns.distinct
        return rows, columns

    def _are_fine(self, page: Sequence[Row], columns: Columns, of_kind: Callable[[Row], bool]) -> bool:
        """Whether all rows count, as they do where the server knows every condition: asked at little cost."""
        return (
            self.passes is None
            and bool(page)
            and len(columns.distinct) == len(page)
            and self._before.isdisjoint(columns.distinct)
            and written(self.request.start) <= columns.first
            and columns.last < written(self.request.end)
            and not any(map(self.left_out, columns.environments))
            and ((of_kind is _is_agent and columns.types == _AGENTS) or all(map(of_kind, page)))
            and columns.keys is not None
            and columns.trace_keys is not None
        )

    def _sorted_out(self, page: Sequence[Row], of_kind: Callable[[Row], bool]) -> list[Row]:
        start, end = written(self.request.start), written(self.request.end)
        rows = [row for row in page if start <= row["startTime"] < end and of_kind(row)]
        rows = [row for row in rows if not self.left_out(row.get("environment"))]
        if self.passes is not None:
            rows = [row for row in rows if self.passes(row)]
        known = len(rows)
        rows = [row for row in rows if _addressable(row)]
        self.unaddressable += known - len(rows)
        ids = {row["id"]: row for row in rows}
        return [row for key, row in ids.items() if key not in self._before]

    def _due(
        self, rows: Sequence[Row], columns: Columns, keys: Sequence[int] | None
    ) -> tuple[Sequence[Row], Columns]:
        """The rows that are decided about now: neither open, nor too young, nor seen by an earlier run."""
        settled, window_start = written(self.request.settled), written(self.request.window_start)
        is_settled = all(columns.ends) and max(columns.ends, default="") <= settled
        if is_settled and (not rows or window_start <= columns.first):
            return rows, columns
        never = written(self.request.settled - NEVER)
        kept = []
        for row, key in zip(rows, keys or (), strict=True):
            if waits(row, settled, never):
                self.deferred.append(candidate_of(row, b"").head)
            elif row["startTime"] >= window_start:
                kept.append(row)
            elif not self.request.was_seen(key):
                self.late += 1
                kept.append(row)
        return kept, columns_of(kept)

    def _offer(self, rows: Sequence[Row], columns: Columns, *, are_tops: bool = False) -> None:
        if self.request.stratified:
            for row in rows:
                one = self._reservoir(apparent_name(str(row.get("name") or "")))
                self._offer_to(one, [row], [row["traceId"]], are_tops)
        elif rows:
            self._offer_to(self._reservoir(""), rows, columns.traces, are_tops)

    def _offer_to(
        self, reservoir: Reservoir, rows: Sequence[Row], traces: Sequence[str], are_tops: bool
    ) -> None:
        salt, cut = self.request.salt, reservoir.cut
        reservoir.eligible += len(rows)
        if are_tops:
            reservoir.eligible -= sum(map(is_quiet, rows))
        # most keys are looked at once, and not worth a list
        small = [
            place for place, trace in enumerate(traces) if sha256((salt + trace).encode()).digest() < cut
        ]
        if small:
            reservoir.add(
                candidate_of(rows[place], sha256((salt + traces[place]).encode()).digest(), is_top=are_tops)
                for place in small
            )

    def _reservoir(self, name: str) -> Reservoir:
        if name not in self._reservoirs:
            self._reservoirs[name] = Reservoir(self.most, cut_of(self.request.rate))
        return self._reservoirs[name]


def written(time: datetime) -> str:
    """``time`` as Langfuse writes times, to the millisecond, never later than it is."""
    time = time.astimezone(UTC)
    return f"{time:%Y-%m-%dT%H:%M:%S}.{time.microsecond // 1000:03d}Z"


def waits(row: Row, settled: str, never: str) -> bool:
    """Whether an observation is open, or ended after ``settled``. One open since ``never`` stays so."""
    end = row.get("endTime")
    return bool(end > settled) if end else bool(row["startTime"] > never)


def _key(hexadecimal: str) -> int:
    return int(hexadecimal, 16) if _SPAN_ID.fullmatch(hexadecimal) else 0


def _addressable(row: Row) -> bool:
    """Whether its ids are OpenTelemetry's: nothing else can be scored."""
    return bool(_TRACE_ID.fullmatch(row["traceId"] or "") and _SPAN_ID.fullmatch(row["id"]))


def _is_agent(row: Row) -> bool:
    return bool(row["type"] == AGENT)


def _is_top(row: Row) -> bool:
    is_root = row.get("isRootObservation")
    return row["type"] not in _NOT_AT_THE_TOP and bool(
        not row.get("parentObservationId") if is_root is None else is_root
    )


_AGENTS = frozenset((AGENT,))
_NOT_AT_THE_TOP = frozenset((AGENT, *UNHEARD)) - {"GENERATION"}
