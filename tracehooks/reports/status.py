"""How things stand: the last runs, what waits or is stuck, and how much is stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tracehooks.gate import EXIT_CODES, combined
from tracehooks.judges.prices import DOLLAR
from tracehooks.records import Verdict
from tracehooks.reports.listing import runs_table
from tracehooks.reports.run_words import Fact, Step
from tracehooks.reports.schedule import Schedules, schedule_facts, schedules, schedules_dict
from tracehooks.reports.standing import DONE, at_work, can_be_resumed, mark, settled, state
from tracehooks.reports.terminal import heading, labelled, steps
from tracehooks.reports.wording import count, moment, plain, size
from tracehooks.scoring.spending import day_scope
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store
from tracehooks.store.accounts import Spent

RUNS_SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusReport:
    """The state of one store. ``runs`` are the newest first, ``span`` the first and last call's start.

    ``schedules`` is None where no scheduler looks after the store. ``stale`` are the jobs whose last run that
    came to its end ended too long ago. ``spent`` is what the jobs' judges used today, in UTC.
    """

    place: str
    bytes: int | None
    counts: Mapping[str, int]
    span: tuple[datetime, datetime] | None
    runs: tuple[RunRecord, ...]
    lost: int
    outbox: Mapping[str, Mapping[str, int]]
    hint: str = ""
    schedules: Schedules | None = None
    notices: Mapping[str, int] = field(default_factory=dict)
    stale: tuple[str, ...] = ()
    spent: Spent = field(default_factory=Spent)
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def latest(self) -> dict[str, RunRecord]:
        """The newest run of each job."""
        return {run.job: run for run in reversed(self.runs)}

    @property
    def verdict(self) -> Verdict:
        """Fail when a job's last run failed its gate; pass when all passed and nothing is stuck."""
        found = [settled(run) or Verdict.INCONCLUSIVE for run in self.latest.values()]
        stuck = [Verdict.INCONCLUSIVE] if any(states.get("dead") for states in self.outbox.values()) else []
        return combined([*found, *stuck, *(Verdict.INCONCLUSIVE for _ in self.problems)])

    @property
    def problems(self) -> list[str]:
        """What is late, missed or stale, a sentence each."""
        old = [f"{job} has not come to its end within the time that is asked for" for job in self.stale]
        return [*(self.schedules.problems if self.schedules else []), *old]

    @property
    def degraded(self) -> list[str]:
        """The jobs whose last run has calls that it could not score."""
        return [job for job, run in self.latest.items() if run.report.get("degraded")]

    @property
    def exit_code(self) -> int:
        """The verdict's exit code."""
        return EXIT_CODES[self.verdict]


def status_report(
    store: Store,
    settings: Settings | None = None,
    *,
    stored: bool,
    hint: str = "",
    max_age: timedelta | None = None,
    now: datetime | None = None,
) -> StatusReport:
    """Look at ``store``; ``stored`` is False when there is none yet and an empty one stands in.

    ``settings`` say what is scheduled. ``max_age`` is how old the last run of each job may be that came to
    its end.
    """
    now, runs = now or datetime.now(UTC), tuple(store.runs.list(limit=200))
    return StatusReport(
        place=store.url if stored else "",
        bytes=store.overview.size() if stored else None,
        counts=store.overview.counts(),
        span=store.calls.span_of_time(),
        runs=runs,
        lost=store.losses.count(),
        outbox=store.outbox.counts(),
        hint=hint,
        schedules=schedules(store, settings, now) if settings is not None else None,
        notices=store.notices.counts(),
        stale=tuple(_stale(runs, max_age, now)) if max_age is not None else (),
        spent=store.accounts.spent(day_scope(now)),
        now=now,
    )


def _stale(runs: Sequence[RunRecord], max_age: timedelta, now: datetime) -> list[str]:
    ends = {job: [run.ended for run in runs if run.job == job and run.state in DONE] for job in _jobs(runs)}
    return [job for job, ended in ends.items() if not any(one and now - one <= max_age for one in ended)]


def _jobs(runs: Sequence[RunRecord]) -> list[str]:
    return sorted({run.job for run in runs})


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
        "schedules": schedules_dict(status.schedules),
        "problems": status.problems,
        "degraded": status.degraded,
        "running": [run.id for run in status.runs if at_work(run)],
        "notices": dict(status.notices),
        "spent_today": {
            "calls": status.spent.calls,
            "tokens": status.spent.tokens,
            "dollars": status.spent.nanos / DOLLAR,
        },
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
    if status.schedules is not None:
        found.extend(schedule_facts(status.schedules, status.now))
    found.extend(Fact("problem", f"{job} has not ended a run lately") for job in status.stale)
    for job in status.degraded:
        found.append(Fact("degraded", f"{job}: the last run could not score all of its calls"))
    if status.spent.calls:
        used = f"{status.spent.tokens:,} tokens in {count(status.spent.calls, 'request')}"
        found.append(Fact("spent", f"${status.spent.nanos / DOLLAR:,.4f} today (UTC), {used} to the judge"))
    if waiting := {state: n for state, n in status.notices.items() if state != "sent"}:
        found.append(Fact("notices", ", ".join(f"{n:,} {state}" for state, n in waiting.items())))
    for sink, states in status.outbox.items():
        found.append(Fact("outbox", f"{sink}: " + ", ".join(f"{n:,} {state}" for state, n in states.items())))
    return found
