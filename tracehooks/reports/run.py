"""What there is to say about one run: its record, and the worst calls with their names and texts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tracehooks.noise.rows import ScoreKind, summarize
from tracehooks.records import AgentCall, Reason, TraceRef
from tracehooks.replay.rows import noise_rows
from tracehooks.reports import standing
from tracehooks.reports.wording import excerpt
from tracehooks.store import RunRecord, Store

TEXT_LENGTH = 240
NOISE = "noise"


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
    def named(cls, counts: Mapping[str, Any]) -> "Counts":
        """The counts by their names; those not given are 0."""
        return cls(**{name: counts[name] for name in cls.__slots__ if name in counts})

    def as_dict(self) -> dict[str, Any]:
        """The counts by name, JSON-ready."""
        return {name: _copy(getattr(self, name)) for name in self.__slots__}


def _copy(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


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
    """A run to be shown, finished or not.

    ``counts`` is None before the run has planned. ``dropped`` counts the spans that were noted as lost on
    their way to the store within the run's window. ``hint`` goes behind each command that the report
    suggests, such as `` --config FILE``. A noise run has ``noise_counts``
    in place of ``counts``.
    """

    run: RunRecord
    counts: Counts | None = None
    noise_counts: Mapping[str, Any] | None = None
    worst: tuple[WorstCall, ...] = ()
    dropped: int = 0
    trace_digits: int = 12
    hint: str = ""

    @property
    def is_noise(self) -> bool:
        """Whether it is a noise run's."""
        return self.run.job == NOISE

    @property
    def exit_code(self) -> int:
        """The exit code of the run's verdict; 3 for one without."""
        return standing.exit_code(self.run)

    @property
    def figures(self) -> Mapping[str, Any]:
        """The window's figures; without a rate before the run came that far."""
        return self.run.report

    @property
    def took(self) -> timedelta | None:
        """How long the run took; None while it is under way."""
        run = self.run
        return None if run.ended is None or run.state == "running" else run.ended - run.started


def run_report(store: Store, run: RunRecord, *, hint: str = "", length: int = TEXT_LENGTH) -> RunReport:
    """Look up what a report about ``run`` shows beside the record itself.

    ``length`` is how many characters of a call's text it holds at most.
    """
    entries = run.report.get("worst") or []
    refs = [TraceRef(entry["trace_id"], entry["span_id"]) for entry in entries]
    calls = store.calls.get_many(refs)
    worst = tuple(
        _worst(entry, calls.get((entry["trace_id"], entry["span_id"])), length) for entry in entries
    )
    noise = run.job == NOISE
    counts = None if noise else current_counts(store, run)
    dropped = store.losses.count(run.window_start, run.window_end)
    return RunReport(
        run=run,
        counts=counts,
        noise_counts=current_noise_counts(store, run) if noise else None,
        worst=worst,
        dropped=dropped,
        hint=hint,
    )


def current_noise_counts(store: Store, run: RunRecord) -> Mapping[str, Any]:
    """A noise run's counts as they are now; see ``jobs/noise.py`` for the sums that hold."""
    if run.state in standing.DONE:
        return run.counts
    counts = store.replays.counts(run.id)
    rows = summarize(noise_rows(store, run), ScoreKind(name="", direction="higher", range=None), 0.0)
    return {
        "planned": counts.planned,
        "answered": counts.answered,
        "agent_errors": counts.agent_errors,
        "not_attempted": counts.not_attempted,
        "scored": rows.scored,
        "unscored": dict(rows.unscored),
        "skipped": dict(rows.skipped),
    }


def current_counts(store: Store, run: RunRecord) -> Counts | None:
    """The run's counts as they are now, also of one that is under way; None when it has not planned yet."""
    if run.state in standing.DONE or not run.counts:
        return Counts.named(run.counts) if run.counts else None
    outcomes, left = store.items.outcomes(run.id), store.items.remaining(run.id)
    waiting = {Reason.NOT_ATTEMPTED.value: left} if left else {}
    return Counts.named({**run.counts, **outcomes, "unscored": {**outcomes["unscored"], **waiting}})


def _worst(entry: Mapping[str, Any], call: AgentCall | None, length: int) -> WorstCall:
    return WorstCall(
        trace_id=entry["trace_id"],
        span_id=entry["span_id"],
        value=entry.get("value"),
        band=entry.get("band"),
        comment=entry.get("comment") or "",
        name=call.name if call else "",
        text=excerpt(call.output or "", length) if call else None,
        start=call.start if call else None,
    )
