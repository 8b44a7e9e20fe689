"""What there is to say about one run: its record, and the worst calls with their names and texts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tracehooks.gate import EXIT_CODES
from tracehooks.records import AgentCall, TraceRef
from tracehooks.reports.wording import excerpt
from tracehooks.store import RunRecord, Store

TEXT_LENGTH = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstCall:
    """One call that a report names. ``text`` is the beginning of what the agent said; None when pruned."""

    trace_id: str
    span_id: str
    value: float | str | None
    band: str | None
    comment: str
    name: str = ""
    text: str | None = None
    start: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """A run to be shown, finished or not. ``dropped`` counts spans that were lost on the way.

    ``hint`` goes behind each command that the report suggests, such as `` --config FILE``.
    """

    run: RunRecord
    worst: tuple[WorstCall, ...] = ()
    dropped: int = 0
    trace_digits: int = 12
    hint: str = ""

    @property
    def exit_code(self) -> int:
        """The code that the run's verdict gives; 3 for one without a verdict."""
        return exit_code(self.run)

    @property
    def figures(self) -> Mapping[str, Any]:
        """The window's figures; empty before the run came that far."""
        return self.run.report

    @property
    def took(self) -> timedelta | None:
        """How long the run took; None while it is under way."""
        return None if self.run.ended is None else self.run.ended - self.run.started


@dataclass(frozen=True, slots=True)
class Counts:
    """A run's calls by what became of them. Both sums hold once the run has planned.

    discovered = deferred + sampled_out + already_scored + planned;
    planned = scored + unscored + skipped, those not yet judged among the unscored as ``not_attempted``.
    """

    discovered: int = 0
    deferred: int = 0
    sampled_out: int = 0
    already_scored: int = 0
    planned: int = 0
    scored: int = 0
    unscored: Mapping[str, int] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, run: RunRecord) -> "Counts":
        """The counts that a run's record holds."""
        return cls.from_mapping(run.counts)

    @classmethod
    def from_mapping(cls, counts: Mapping[str, Any]) -> "Counts":
        """The counts by their names; those not given are 0."""
        return cls(**{name: counts[name] for name in cls.__slots__ if name in counts})

    def as_dict(self) -> dict[str, Any]:
        """The counts by name, JSON-ready."""
        return {name: _copy(getattr(self, name)) for name in self.__slots__}


def _copy(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


def exit_code(run: RunRecord) -> int:
    """The exit code of a run's verdict: 0 pass, 1 fail, 3 could not decide or not decided yet."""
    return 3 if run.verdict is None else EXIT_CODES[run.verdict]


def run_report(store: Store, run: RunRecord, *, dropped: int = 0, hint: str = "") -> RunReport:
    """Look up what a report about ``run`` shows beside the record itself."""
    entries = run.report.get("worst") or []
    refs = [TraceRef(entry["trace_id"], entry["span_id"]) for entry in entries]
    calls = store.calls.get_many(refs)
    worst = tuple(_worst(entry, calls.get((entry["trace_id"], entry["span_id"]))) for entry in entries)
    return RunReport(run=run, worst=worst, dropped=dropped, hint=hint)


def _worst(entry: Mapping[str, Any], call: AgentCall | None) -> WorstCall:
    return WorstCall(
        trace_id=entry["trace_id"],
        span_id=entry["span_id"],
        value=entry.get("value"),
        band=entry.get("band"),
        comment=entry.get("comment") or "",
        name=call.name if call else "",
        text=excerpt(call.output or "", TEXT_LENGTH) if call else None,
        start=call.start if call else None,
    )
