"""Sources that draw for themselves: too many calls to bring here, only to leave most of them where they are.

:class:`Planner` asks such a source for a :class:`Drawing` and learns the counts; of the calls that were drawn
the spans come into the store, so that judging, resuming and explaining work as with any other call.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, runtime_checkable

from tracehooks.calls import SpanRecord
from tracehooks.records import Score, TraceRef
from tracehooks.sampling import Drawn
from tracehooks.scoring.heads import CallHead

Keep = Callable[[Sequence[SpanRecord]], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawRequest:
    """What is to be drawn: ``size`` calls or a ``rate`` of them, or all, by the key of ``salt`` and trace id.

    Calls with ``start <= call.start < end`` count. Those before ``window_start`` only if they are late: not
    among ``seen``, the keys of what earlier runs listed, in order. A call that ended after ``settled`` waits.
    ``stratified`` shares ``size`` equally among the agents.
    """

    start: datetime
    window_start: datetime
    end: datetime
    settled: datetime
    salt: str
    size: int | None = None
    rate: float | None = None
    stratified: bool = False
    seen: "array[int]" = field(default_factory=lambda: array("Q"))

    def was_seen(self, key: int) -> bool:
        """Whether an earlier run listed the call with this key."""
        place = bisect_left(self.seen, key)
        return place < len(self.seen) and self.seen[place] == key


@dataclass(slots=True)
class Drawing:
    """What was drawn. ``eligible`` counts all calls that could have been, the drawn ones included.

    ``listed`` are the keys of what this drawing saw and decided about.
    """

    drawn: list[Drawn[CallHead]] = field(default_factory=list)
    eligible: int = 0
    late: int = 0
    deferred: list[CallHead] = field(default_factory=list)
    listed: "array[int]" = field(default_factory=lambda: array("Q"))


@runtime_checkable
class DrawingSource(Protocol):
    """A source that draws a sample without handing over everything that it looked at."""

    def draw(self, request: DrawRequest, keep: Keep | None = None) -> Drawing:
        """Draw. ``keep`` gets the spans of the drawn calls, in batches; None only looks, and reads no texts.

        Raises PartialReadError when the backend gave up half-way.
        """
        ...

    def known_scores(self, refs: Sequence[TraceRef], name: str) -> Mapping[TraceRef, Score]:
        """The scores called ``name`` that the backend has of these calls, asked for in batches."""
        ...

    def spans_of(self, trace_id: str) -> Sequence[SpanRecord]:
        """The spans of one trace; none when the backend does not know it."""
        ...
