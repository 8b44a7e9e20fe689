"""How things stand: the last runs, what waits or is stuck, and how much is stored."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tracehooks.gate import EXIT_CODES, combined
from tracehooks.records import Verdict
from tracehooks.reports.listing import runs_table
from tracehooks.reports.run_words import Fact, Step
from tracehooks.reports.standing import DONE, can_be_resumed, mark, settled, state
from tracehooks.reports.terminal import heading, labelled, steps
from tracehooks.reports.wording import count, moment, plain, size
from tracehooks.store import RunRecord, Store

RUNS_SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusReport:
    """The state of one store. ``runs`` are the newest first, ``span`` the first and last call's start."""

    place: str
    bytes: int | None
    counts: Mapping[str, int]
    span: tuple[datetime, datetime] | None
    runs: tuple[RunRecord, ...]
    lost: int
    outbox: Mapping[str, Mapping[str, int]]
    hint: str = ""

    @property
    def latest(self) -> dict[str, RunRecord]:
        """The newest run of each job."""
        return {run.job: run for run in reversed(self.runs)}

    @property
    def verdict(self) -> Verdict:
        """Fail when a job's last run failed its gate; pass when all passed and nothing is stuck."""
        found = [settled(run) or Verdict.INCONCLUSIVE for run in self.latest.values()]
        stuck = [Verdict.INCONCLUSIVE] if any(states.get("dead") for states in self.outbox.values()) else []
        return combined([*found, *stuck])

    @property
    def exit_code(self) -> int:
        """The verdict's exit code."""
        return EXIT_CODES[self.verdict]


def status_report(store: Store, *, stored: bool, hint: str = "") -> StatusReport:
    """Look at ``store``; ``stored`` is False when there is none yet and an empty one stands in."""
    return StatusReport(
        place=store.url if stored else "",
        bytes=store.overview.size() if stored else None,
        counts=store.overview.counts(),
        span=store.calls.span_of_time(),
        runs=tuple(store.runs.list(limit=200)),
        lost=store.losses.count(),
        outbox=store.outbox.counts(),
        hint=hint,
    )


def status_renderable(status: StatusReport, width: int) -> RenderableType:
    """The status for a terminal."""
    parts: list[RenderableType] = [_first_line(status), "", labelled(_facts(status))]
    if status.runs:
        parts += ["", runs_table(status.runs[:RUNS_SHOWN], width)]
    return Group(*parts, *steps("Next", [step.with_hint(status.hint) for step in next_steps(status)]))


def status_dict(status: StatusReport) -> dict[str, Any]:
    """The status for a program."""
    return {
        "verdict": status.verdict if status.runs else None,
        "exit_code": status.exit_code,
        "store": {"url": status.place or None, "bytes": status.bytes, **status.counts},
        "first_call": status.span[0] if status.span else None,
        "last_call": status.span[1] if status.span else None,
        "lost_spans": status.lost,
        "outbox": {sink: dict(states) for sink, states in status.outbox.items()},
        "runs": [_run_dict(run) for run in status.runs],
        "next": [step.with_hint(status.hint).text for step in next_steps(status)],
    }


def _run_dict(run: RunRecord) -> dict[str, Any]:
    return {
        "run": run.id,
        "job": run.job,
        "state": state(run),
        "verdict": settled(run),
        "reasons": list(run.reasons),
        "window": {"start": run.window_start, "end": run.window_end},
        "started": run.started,
        "ended": run.ended,
    }


def next_steps(status: StatusReport) -> list[Step]:
    """What to do about it, the most useful first."""
    if not status.counts["spans"] and not status.runs:
        return [
            Step("tracehooks demo", "have something to look at:"),
            Step("", "or decorate your agent with @traced and call tracehooks.init()"),
        ]
    if not status.runs:
        return [Step("tracehooks run toxicity", "judge what was traced:")]
    unfinished = [run for run in status.latest.values() if can_be_resumed(run)]
    found = [Step(f"tracehooks resume {run.id}", f"finish the {run.job} run:") for run in unfinished]
    for run in status.latest.values():
        if run.state in DONE and settled(run) is not Verdict.PASS:
            found.append(Step(f"tracehooks report {run.id}", f"see why {run.job} did not pass:"))
    return found


def _first_line(status: StatusReport) -> Text:
    if not status.runs:
        return heading("NO RUNS", "nothing has been judged yet")
    run = next(iter(reversed(status.latest.values())))
    return heading(mark(run), f"{run.job}, started {moment(run.started)} UTC")


def _facts(status: StatusReport) -> list[Fact]:
    counts = status.counts
    stored = ", ".join(count(counts[name], name[:-1]) for name in ("spans", "calls", "scores", "runs"))
    place = f"{plain(status.place)}, {size(status.bytes or 0)}" if status.place else "there is none yet"
    found = [Fact("store", place), Fact("stored", stored)]
    if status.span:
        found.append(Fact("calls", f"from {moment(status.span[0])} to {moment(status.span[1])} UTC"))
    if status.lost:
        found.append(Fact("lost", f"{count(status.lost, 'span')} never reached the store"))
    for sink, states in status.outbox.items():
        found.append(Fact("outbox", f"{sink}: " + ", ".join(f"{n:,} {state}" for state, n in states.items())))
    return found
