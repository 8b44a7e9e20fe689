"""Stored calls: listed by time in pages, each once."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from tracehooks.records import AgentCall, TraceRef
from tracehooks.store.rows import CallFilter, CallKey


class Calls:
    """The outermost agent calls of the stored spans."""

    def page(
        self,
        start: datetime | None = None,
        end: datetime | None = None,
        *,
        filters: CallFilter | None = None,
        after: CallKey | None = None,
        limit: int = 500,
    ) -> list[AgentCall]:
        """At most ``limit`` calls with ``start <= call.start < end``, ordered by (start, trace id, span id).

        ``after`` is the key of the last call of the page before. Fewer than ``limit`` means the end.
        """
        raise NotImplementedError

    def iterate(
        self,
        start: datetime | None = None,
        end: datetime | None = None,
        filters: CallFilter | None = None,
    ) -> Iterator[AgentCall]:
        """All calls of a window in order, read page by page; nothing is held open between two pages."""
        raise NotImplementedError

    def latest(
        self, limit: int = 50, filters: CallFilter | None = None, before: CallKey | None = None
    ) -> list[AgentCall]:
        """The newest calls first."""
        raise NotImplementedError

    def of_trace(self, trace_id: str) -> list[AgentCall]:
        """The calls of one trace, in order."""
        raise NotImplementedError

    def get_many(self, refs: Iterable[TraceRef]) -> dict[tuple[str, str], AgentCall]:
        """The calls of these addresses that are there, by (trace id, span id)."""
        raise NotImplementedError

    def span_of_time(self) -> tuple[datetime, datetime] | None:
        """The first and the last start; None when there are no calls."""
        raise NotImplementedError

    def count(
        self,
        start: datetime | None = None,
        end: datetime | None = None,
        filters: CallFilter | None = None,
    ) -> int:
        """How many calls a window has."""
        raise NotImplementedError
