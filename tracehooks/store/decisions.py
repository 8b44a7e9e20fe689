"""Stored decisions: why a run did not plan a call."""

from collections.abc import Iterable

from tracehooks.records import Decision, TraceRef
from tracehooks.store.rows import DecisionRow


class Decisions:
    """What runs decided about calls that they did not plan."""

    def add(self, run_id: str, rows: Iterable[tuple[str, str, Decision, str]]) -> None:
        """Keep (trace id, span id, decision, reason) rows; a later decision about a call replaces an earlier."""
        raise NotImplementedError

    def clear(self, run_id: str) -> int:
        """Forget a run's decisions, to decide anew. Returns how many there were."""
        raise NotImplementedError

    def of_trace(self, trace_id: str) -> list[DecisionRow]:
        """All decisions about the calls of one trace, the newest run's first."""
        raise NotImplementedError

    def counts(self, run_id: str) -> dict[Decision, int]:
        """How many calls got which decision."""
        raise NotImplementedError

    def decided(self, job: str, refs: Iterable[TraceRef]) -> set[TraceRef]:
        """Those of ``refs`` that a run of ``job`` has planned or decided about; a deferred call is undecided."""
        raise NotImplementedError
