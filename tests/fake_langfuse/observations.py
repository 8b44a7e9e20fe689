"""Observations and the traces that they make up."""

import bisect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

Key = tuple[str, str, str]  # start time, trace id, observation id: the order of v2/observations


@dataclass(slots=True)
class Observation:
    """One observation. Times are ISO texts; ``input`` and ``output`` are texts as they were sent."""

    id: str
    trace_id: str
    start: str
    end: str | None = None
    parent_id: str | None = None
    type: str = "SPAN"
    name: str = ""
    level: str = "DEFAULT"
    status_message: str = ""
    environment: str = "default"
    version: str = ""
    release: str = ""
    user_id: str = ""
    session_id: str = ""
    trace_name: str | None = None
    tags: list[str] = field(default_factory=list)
    input: str | None = None
    output: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    trace_metadata: dict[str, Any] = field(default_factory=dict)
    model: str = ""
    model_parameters: dict[str, Any] = field(default_factory=dict)
    usage: dict[str, Any] = field(default_factory=dict)
    cost: dict[str, Any] = field(default_factory=dict)
    completion_start: str | None = None
    prompt_name: str = ""
    prompt_version: int | None = None
    app_root: bool = False
    created_at: str = ""
    updated_at: str = ""
    experiment: dict[str, str] | None = None

    @property
    def key(self) -> Key:
        return self.start, self.trace_id, self.id

    @property
    def flat_metadata(self) -> dict[str, Any]:
        """Its metadata and its trace's, in one level: the names of inner objects are joined by dots."""
        return dict(_flat(self.trace_metadata | self.metadata))

    @property
    def is_root(self) -> bool:
        return self.app_root or not self.parent_id


def _flat(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{prefix}{name}.")
        elif value != {}:
            yield f"{prefix}{name}", value


@dataclass(slots=True)
class Trace:
    """One trace of the v1 reads: what its spans say of it, the root's input and output."""

    id: str
    timestamp: str
    name: str | None = None
    environment: str = "default"
    user_id: str | None = None
    session_id: str | None = None
    release: str | None = None
    version: str | None = None
    tags: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    input: Any = None
    output: Any = None
    public: bool = False
    created_at: str = ""
    updated_at: str = ""


class Observations:
    """All observations, sorted by start time, trace and id when read; sent again, one replaces itself."""

    def __init__(self) -> None:
        self._traces: dict[str, dict[str, Observation]] = {}
        self._sorted: list[Observation] = []
        self._stale = False

    def __len__(self) -> int:
        return sum(len(trace) for trace in self._traces.values())

    def __iter__(self) -> Iterator[Observation]:
        for trace in self._traces.values():
            yield from trace.values()

    def of_trace(self, trace_id: str) -> list[Observation]:
        """Those of one trace, newest first."""
        found = self._traces.get(trace_id, {}).values()
        return sorted(found, key=lambda one: one.key, reverse=True)

    def get(self, trace_id: str, span_id: str) -> Observation | None:
        return self._traces.get(trace_id, {}).get(span_id)

    def add(self, observations: Iterable[Observation]) -> None:
        for one in observations:
            trace = self._traces.setdefault(one.trace_id, {})
            if one.id in trace:
                self._stale = True
            elif not self._stale:
                self._insert(one)
            trace[one.id] = one

    def add_many(self, observations: Iterable[Observation]) -> None:
        """As ``add``, and sorts only when next read: for very many."""
        self._stale = True
        self.add(observations)

    def delete_trace(self, trace_id: str) -> None:
        if self._traces.pop(trace_id, None):
            self._stale = True

    def newest(self, before: Key | None, until: str | None) -> Iterator[Observation]:
        """Newest first: those before the key ``before``, and of a start before ``until``."""
        rows = self._ordered()
        place = len(rows)
        if until is not None:
            place = bisect.bisect_left(rows, (until, "", ""), key=lambda one: one.key)
        if before is not None:
            place = min(place, bisect.bisect_left(rows, before, key=lambda one: one.key))
        for index in range(place - 1, -1, -1):
            yield rows[index]

    def _insert(self, one: Observation) -> None:
        if not self._sorted or self._sorted[-1].key < one.key:
            self._sorted.append(one)
        else:
            bisect.insort(self._sorted, one, key=lambda other: other.key)

    def _ordered(self) -> list[Observation]:
        if self._stale:
            self._sorted = sorted(self, key=lambda one: one.key)
            self._stale = False
        return self._sorted
