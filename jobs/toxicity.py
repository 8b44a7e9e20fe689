"""The toxicity night: sample the window's calls, judge them, attach every score, and end in one verdict."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tracehooks.gate import Ruling, rule_on_rate
from tracehooks.jobs.assessment import Assessment, assess
from tracehooks.jobs.windows import ResolvedWindow, resolve_window
from tracehooks.records import Reason, Verdict
from tracehooks.scorers.loading import toxicity_scorer
from tracehooks.scoring import Coordinator, Deliverer, Discovery, Planner, Tally, Window, load_sinks
from tracehooks.scoring.coordinator import this_owner
from tracehooks.scoring.deliver import all_results, unwanted
from tracehooks.scoring.source import load_source
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store

JOB = "toxicity"
DELIVERY_SECONDS = 60.0
CONFIRMATION_SECONDS = 30.0  # that a night waits to see its scores where they went; a later one looks again


def utc_now() -> datetime:
    """The time, aware, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Preview:
    """What a run would do: the window, the counts, and how many calls a scorer would be asked about."""

    window: Window
    note: str
    score_name: str
    scorer_version: str
    judge_model: str | None
    counts: dict[str, int]

    @property
    def judge_calls(self) -> int:
        """Requests to a judge, when none has to be repeated; 0 when the local pre-screen scores."""
        return self.counts["planned"] if self.judge_model else 0


@dataclass(kw_only=True)
class ToxicityNight:
    """One toxicity night on a store. ``scorer`` is the settings' own unless given.

    ``progress(tally, total)`` is called after each commit.
    """

    settings: Settings
    store: Store
    scorer: Any = None
    clock: Callable[[], datetime] = utc_now
    rescore: bool = False
    allow_empty: bool = False
    progress: Callable[[Tally, int], None] = lambda tally, total: None
    owner: str = field(default_factory=this_owner)

    def __post_init__(self) -> None:
        if self.scorer is None:
            self.scorer = toxicity_scorer(self.settings)
        self._sinks = load_sinks(self.settings)
        self._job = self.settings.jobs.toxicity

    def preview(self, start: datetime | None = None, end: datetime | None = None) -> Preview:
        """What :meth:`run` would do now; nothing is written and no judge is asked."""
        resolved = resolve_window(self.store, JOB, self._job, self.clock(), start, end)
        found = self._planner(resolved).discover(resolved.window, self.clock())
        return Preview(
            resolved.window,
            resolved.note,
            self.scorer.name,
            self.scorer.version,
            _judge_model(self.scorer),
            found.counts(),
        )

    def run(self, start: datetime | None = None, end: datetime | None = None) -> RunRecord:
        """Run the night over the window. A second run of a window judges only what has no score yet."""
        now = self.clock()
        resolved = resolve_window(self.store, JOB, self._job, now, start, end)
        plan = self._plan(resolved)
        run = self.store.runs.open(JOB, *resolved.window, plan=plan)
        fresh = {"started": now, "ended": None, "verdict": None, "reasons": ()}
        run = self.store.runs.update(run.id, state="running", owner=self.owner, plan=plan, **fresh)
        return self._from_the_start(run, resolved, now)

    def resume(self, run: RunRecord) -> RunRecord:
        """Finish a run that was cut short: judge what it planned and has no result for."""
        if not run.counts:  # cut short while it was planning
            lookback = timedelta(seconds=run.plan["lookback_seconds"])
            resolved = ResolvedWindow(Window(run.window_start, run.window_end), lookback=lookback)
            return self._from_the_start(run, resolved, self.clock())
        self.store.runs.update(run.id, state="running", owner=self.owner)
        return self._finish(run, None, self._work(run))

    def _from_the_start(self, run: RunRecord, resolved: ResolvedWindow, now: datetime) -> RunRecord:
        self.store.items.keep_only(run.id, self.scorer.name)
        self.store.items.reopen(run.id, scored=self.rescore)
        planner = self._planner(resolved)
        found = planner.discover(resolved.window, now, run)
        planner.write(run, found)
        # a run with counts is fully planned: from here on it can be resumed
        report = {**run.report, "late": found.late}
        run = self.store.runs.update(run.id, counts=found.counts(), report=report)
        return self._finish(run, found, self._work(run))

    def _plan(self, resolved: ResolvedWindow) -> dict[str, Any]:
        """What one must know to read the run's figures later."""
        return {
            "score_name": self.scorer.name,
            "scorer_version": self.scorer.version,
            "judge_model": _judge_model(self.scorer),
            "threshold": getattr(self.scorer, "threshold", 0.0),
            "sample": self._job.sample.model_dump(mode="json"),
            "filters": self._job.filters.model_dump(mode="json"),
            "gate": self._job.gate.model_dump(mode="json"),
            "settle_seconds": self._job.settle.total_seconds(),
            "lookback_seconds": resolved.lookback.total_seconds(),
            "moves": resolved.moves,
            "note": resolved.note,
            "rescore": self.rescore,
        }

    def _planner(self, resolved: ResolvedWindow) -> Planner:
        return Planner(
            store=self.store,
            source=load_source(self.settings, self.store, self._job.filters),
            job=JOB,
            score_name=self.scorer.name,
            sample=self._job.sample,
            settle=self._job.settle,
            lookback=resolved.lookback,
            rescore=self.rescore,
        )

    def _work(self, run: RunRecord) -> Tally:
        coordinator = Coordinator(
            store=self.store,
            scorer=self.scorer,
            project=self.settings.project,
            sinks=tuple(self._sinks),
            all_results=all_results(self._sinks),
            unwanted=unwanted(self._sinks),
            concurrency=self.settings.judge.concurrency,
            rescore=bool(run.plan.get("rescore")),
            owner=self.owner,
            progress=self.progress,
        )
        try:
            return asyncio.run(coordinator.work(run.id))
        except KeyboardInterrupt:
            self.store.runs.update(run.id, state="interrupted", ended=self.clock())
            raise
        except Exception as error:
            reason = f"error: {type(error).__name__}: {error}"
            self.store.runs.update(run.id, state="failed", ended=self.clock(), reasons=(reason,))
            raise

    def _finish(self, run: RunRecord, found: Discovery | None, tally: Tally) -> RunRecord:
        """Write the record before anything is delivered: a sink that hangs must not cost the verdict."""
        assessment = assess(self.store, run, found.probabilities if found else {})
        ruling = self._rule(assessment)
        reasons = ruling.reasons
        if tally.stopped:
            reasons = (*reasons, f"judge: stopped after too many answers were {tally.stopped}")
        left = self.store.items.remaining(run.id)
        counts = {**run.counts, **self._outcomes(run.id, left)}
        self.store.runs.update(
            run.id,
            state="skipped" if self._samples_nothing() else _state(tally, left),
            verdict=ruling.verdict,
            reasons=reasons,
            counts=counts,
            report={
                **assessment.as_dict(),
                "late": run.report.get("late", 0),
                "left": left,
                "pass": _pass_report(tally),
            },
            ended=self.clock(),
        )
        deliverer = Deliverer(self.store, self._sinks, owner=self.owner)
        if deliverer.deliver(DELIVERY_SECONDS):
            deliverer.confirm(CONFIRMATION_SECONDS)
        return self.store.runs.get(run.id)

    def _rule(self, assessment: Assessment) -> Ruling:
        gate = self._job.gate
        if self._samples_nothing():
            return Ruling(Verdict.INCONCLUSIVE, ("skipped: the sample size is 0, so nothing was judged",))
        return rule_on_rate(
            assessment.rate,
            toxic=assessment.toxic,
            missing=assessment.missing,
            skipped=sum(assessment.skipped.values()),
            max_rate=gate.max_rate,
            min_coverage=gate.min_coverage,
            allow_empty=self.allow_empty,
            called="toxic" if assessment.score_name == "toxicity" else "candidates",
        )

    def _samples_nothing(self) -> bool:
        return self._job.sample.size == 0 or self._job.sample.rate == 0

    def _outcomes(self, run_id: str, left: int) -> dict[str, Any]:
        """The run's own items by outcome: planned = scored + unscored + skipped, what is left included."""
        outcomes = self.store.items.outcomes(run_id)
        if left:
            outcomes["unscored"][Reason.NOT_ATTEMPTED.value] = left
        return outcomes


def _judge_model(scorer: Any) -> str | None:
    return getattr(getattr(scorer, "judge", None), "model", None)


def _state(tally: Tally, left: int) -> str:
    if tally.stopped is Reason.TIMEOUT:
        return "timed_out"
    return "failed" if left else "finished"


def _pass_report(tally: Tally) -> dict[str, Any]:
    """What the last pass itself did, beside what the run has."""
    return {
        "judged": tally.done,
        "requests": tally.requests,
        "input_tokens": tally.input_tokens,
        "output_tokens": tally.output_tokens,
    }
