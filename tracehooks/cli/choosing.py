"""Which calls a listing shows: by what they are, and by the scores that they have."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from tracehooks.records import AgentCall
from tracehooks.store import CallFilter, CallKey, Store, StoredScore

PAGE = 200
NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a call must be and have; None does not ask.

    ``score`` is the name of a score that it has, ``status`` that score's status, or of any; ``none`` wants a
    call without. ``start`` is inclusive, ``end`` exclusive.
    """

    filters: CallFilter = field(default_factory=CallFilter)
    score: str | None = None
    status: str | None = None
    start: datetime | None = None
    end: datetime | None = None

    def accepts(self, scores: Sequence[StoredScore]) -> bool:
        """Whether a call with these scores is wanted."""
        named = [score for score in scores if self.score in (None, score.name)]
        if self.status == NONE:
            return not named
        if self.status is not None:
            return any(score.status == self.status for score in named)
        return self.score is None or bool(named)


@dataclass(frozen=True, slots=True)
class Listed:
    """One call with its scores."""

    call: AgentCall
    scores: tuple[StoredScore, ...]


def listed_calls(store: Store, wanted: Wanted, before: CallKey | None = None) -> Iterator[Listed]:
    """The wanted calls, the newest first, from below ``before`` on; read as they are asked for."""
    if wanted.end is not None:
        end = CallKey(wanted.end, "", "")
        before = end if before is None else min(before, end)
    while page := store.calls.latest(PAGE, wanted.filters, before):
        for listed in _with_scores(store, page):
            if wanted.start is not None and listed.call.start < wanted.start:
                return
            if wanted.accepts(listed.scores):
                yield listed
        before = CallKey.of(page[-1])


def _with_scores(store: Store, calls: Sequence[AgentCall]) -> Iterator[Listed]:
    found = store.scores.of_traces(call.trace_id for call in calls)
    for call in calls:
        of_trace = found.get(call.trace_id, ())
        yield Listed(call, tuple(score for score in of_trace if score.span_id == call.span_id))
