"""Stored spans, and the calls that are derived from them in the same transaction."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracehooks.calls import SpanRecord


class Spans:
    """The finished spans."""

    def add(self, spans: Sequence["SpanRecord"]) -> int:
        """Store ``spans``; those that are there already are left alone. Returns how many are new.

        The calls of every trace touched are derived anew in the same transaction, so the order in which a
        trace's spans arrive, and the process they arrive from, do not matter.
        """
        raise NotImplementedError

    def of_trace(self, trace_id: str) -> "list[SpanRecord]":
        """The spans of one trace, in the order they started."""
        raise NotImplementedError

    def prune(self, older_than: datetime) -> int:
        """Delete the spans and calls of traces that ended before ``older_than``. Returns the spans deleted.

        Scores, runs and their counts are kept.
        """
        raise NotImplementedError
