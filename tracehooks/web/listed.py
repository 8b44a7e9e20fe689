"""Calls as rows of a table, with their scores."""

from collections.abc import Sequence
from dataclasses import dataclass

from tracehooks.records import AgentCall
from tracehooks.store import Store, StoredScore


@dataclass(frozen=True, slots=True)
class Row:
    """One call in a listing."""

    call: AgentCall
    scores: tuple[StoredScore, ...]

    @property
    def href(self) -> str:
        """The page of its trace, at the call."""
        return f"/traces/{self.call.trace_id}#{self.call.span_id}"


def rows(store: Store, calls: Sequence[AgentCall]) -> list[Row]:
    """``calls`` with the scores of each."""
    scores = store.scores.of_traces(call.trace_id for call in calls)
    return [
        Row(call, tuple(each for each in scores.get(call.trace_id, ()) if each.span_id == call.span_id))
        for call in calls
    ]
