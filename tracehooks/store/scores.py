"""Stored scores, their history, and the one transaction that commits them."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from tracehooks.records import Status, TraceRef
from tracehooks.store.rows import CallFilter, ScoreKey, ScoreRecord, StoredScore


class Scores:
    """The scores, one for each project, call and name."""

    def commit(self, records: Sequence[ScoreRecord], *, project: str, sinks: Sequence[str]) -> list[bool]:
        """Commit results: score, history, outbox and work item in one transaction for all ``records``.

        Returns for each whether it was taken. False: its work item was taken over by another meanwhile
        (the token is stale), and nothing of it was written. A scored result stays unless the record is a
        ``rescore``, which raises the revision; an unscored or skipped one never replaces a scored one.
        History keeps every result that was taken.
        """
        raise NotImplementedError

    def get(self, score_id: str) -> StoredScore | None:
        """The score with this id."""
        raise NotImplementedError

    def history(self, score_id: str) -> list[StoredScore]:
        """Every result committed under this id, oldest first."""
        raise NotImplementedError

    def of_trace(self, trace_id: str) -> list[StoredScore]:
        """All scores of one trace."""
        raise NotImplementedError

    def of_calls(self, refs: Iterable[TraceRef], name: str) -> dict[tuple[str, str], StoredScore]:
        """The scores called ``name`` of these calls, by (trace id, span id)."""
        raise NotImplementedError

    def page(
        self,
        name: str | None = None,
        status: Status | str | None = None,
        start: datetime | None = None,
        end: datetime | None = None,
        after: ScoreKey | None = None,
        limit: int = 500,
        *,
        newest_first: bool = False,
    ) -> list[StoredScore]:
        """At most ``limit`` scores of calls with ``start <= call's start < end``, ordered by ScoreKey."""
        raise NotImplementedError

    def in_window(
        self, name: str, start: datetime, end: datetime, filters: CallFilter | None = None
    ) -> Iterator[StoredScore]:
        """The scores called ``name`` of the calls that started in the window, in order, in any status."""
        raise NotImplementedError
