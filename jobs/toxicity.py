"""The toxicity night: sample the window's calls, judge them, attach every score, and end in one verdict."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tracehooks.errors import PartialReadError
from tracehooks.gate import Ruling
from tracehooks.jobs.assessment import assess
from tracehooks.jobs.belonging import check_project
from tracehooks.jobs.judging import Judging, pass_report
from tracehooks.jobs.keeper import UNDER_WAY, RunKeeper, utc_now
from tracehooks.jobs.toxicity_preview import Preview
from tracehooks.jobs.toxicity_ruling import ToxicityRule
from tracehooks.jobs.windows import ResolvedWindow, resolve_window
from tracehooks.records import Reason, Verdict
from tracehooks.scorers.loading import toxicity_scorer
from tracehooks.scoring import Discovery, Planner, Tally, Window, load_sinks
from tracehooks.scoring.batch_report import batch_dict
from tracehooks.scoring.batching import is_early
from tracehooks.scoring.canaries import CanaryCheck, canaries_for
from tracehooks.scoring.coordinator import WAIT_SECONDS, this_owner
from tracehooks.scoring.estimating import Estimate, estimate
from tracehooks.scoring.links import with_links
from tracehooks.scoring.reviewing import send_to_review
from tracehooks.scoring.source import LOCAL, load_source
from tracehooks.scoring.spending import budget_reasons, check_budget, spent_dict
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store

__all__ = ["JOB", "Preview", "ToxicityNight"]

JOB = "toxicity"


@dataclass(kw_only=True)
class ToxicityNight:
    """One toxicity night on a store. ``scorer`` is the settings' own unless given.

    ``progress(tally, total)`` is called after each commit, ``stage(text)`` with what it begins to do.
    ``halted`` is asked now and then: once it says yes, the run is put away as interrupted.
    """

    settings: Settings
    store: Store
    scorer: Any = None
    clock: Callable[[], datetime] = utc_now
    rescore: bool = False
    cache: bool = True
    allow_empty: bool = False
    progress: Callable[[Tally, int], None] = lambda tally, total: None
    owner: str = field(default_factory=this_owner)
    halted: Callable[[], bool] = lambda: False
    stage: Callable[[str], None] = lambda text: None

    def __post_init__(self) -> None:
        if self.scorer is None:
            self.scorer = toxicity_scorer(self.settings)
        check_budget(self.settings, self.scorer)
        self._sinks = load_sinks(self.settings)
        self._keeper = RunKeeper(settings=self.settings, store=self.store, owner=self.owner, clock=self.clock)
        self._job = self.settings.jobs.toxicity

    def preview(self, start: datetime | None = None, end: datetime | None = None) -> Preview:
        """What :meth:`run` would do now; nothing is written and no judge is asked."""
        check_project(self.store, self.settings.project)
        resolved = resolve_window(
            self.store, JOB, self._job, self.clock(), start, end, is_local=self._is_local
        )
        found = self._planner(resolved).discover(resolved.window, self.clock())
        frozen = canaries_for(self.settings, self.scorer, len(found.planned))
        return Preview(
            resolved.window,
            resolved.note,
            self.scorer.name,
            self.scorer.version,
            _judge_model(self.scorer),
            found.counts(),
            self._estimate(len(found.planned) + len(frozen)),
            len(frozen),
        )

    def _estimate(self, answers: int) -> Estimate | None:
        return estimate(self.settings, self.store, self.scorer, answers, in_batch=self._job.batch is not None)

    def run(self, start: datetime | None = None, end: datetime | None = None) -> RunRecord:
        """Run the night over the window. A second run of a window judges only what has no score yet.

        Where another process is at the same window, this one helps, and returns when the run has ended.
        """
        now = self.clock()
        resolved = resolve_window(self.store, JOB, self._job, now, start, end, is_local=self._is_local)
        plan = self._plan(resolved)
        run = self._keeper.open(JOB, *resolved.window, plan=plan)
        fresh = {"plan": plan, "counts": {}, "started": now, "ended": None, "verdict": None, "reasons": ()}
        mine = self._keeper.take(run, **fresh)
        return self._help(run) if mine is None else self._go_on(mine)

    def attempt(self, resolved: ResolvedWindow) -> RunRecord | None:
        """Bring the run of the window to its end, however far it came; None while another works on it.

        One that has come to an end, be it that it failed, stays as it is.
        """
        run = self._keeper.open(JOB, *resolved.window, plan=self._plan(resolved))
        if run.state not in UNDER_WAY or is_early(self.store, run, self.clock()):
            return run
        mine = self._keeper.take(run, states=UNDER_WAY, **self._anew(run))
        return None if mine is None else self._go_on(mine)

    def resume(self, run: RunRecord) -> RunRecord:
        """Finish a run that was cut short: judge what it planned and has no result for."""
        mine = self._keeper.take(run, **(self._anew(run) or {"plan": self._completed(run)}))
        return self._help(run) if mine is None else self._go_on(mine)

    def _anew(self, run: RunRecord) -> dict[str, Any]:
        """What begins a run anew that was planned for scores of another name: both are no one figure."""
        if run.plan.get("score_name", self.scorer.name) == self.scorer.name:
            return {}
        of_scorer = ("score_name", "scorer_version", "judge_model", "threshold")
        plan = self._plan(ResolvedWindow(Window(run.window_start, run.window_end)))
        return {"plan": {**run.plan, **{key: plan[key] for key in of_scorer}}, "counts": {}}

    def _completed(self, run: RunRecord) -> dict[str, Any]:
        """The run's plan, with what it lacks when it failed before it could plan."""
        if "score_name" in run.plan:
            return dict(run.plan)
        return {**self._plan(ResolvedWindow(Window(run.window_start, run.window_end))), **run.plan}

    def _go_on(self, run: RunRecord) -> RunRecord:
        """Do what is left of a run that is ours, to its verdict. It says so when it breaks off."""
        self._deadline = time.time() + self._job.time_limit.total_seconds()
        with self._keeper.working_on(run):
            return self._finish(run, None, self._work(run)) if run.counts else self._from_the_start(run)

    def _help(self, run: RunRecord) -> RunRecord:
        """Work on a run that another process holds until it has ended; finish it when that one is gone."""
        while True:
            run = self.store.runs.get(run.id)
            if run.state not in UNDER_WAY or self.halted():
                return run
            if run.counts and not self._anew(run) and self.store.items.remaining(run.id):
                self._deadline = time.time() + self._job.time_limit.total_seconds()
                self._work(run)
            mine = self._keeper.take(run, states=UNDER_WAY, **self._anew(run))
            if mine is not None:
                return self._go_on(mine)
            time.sleep(WAIT_SECONDS)

    def _from_the_start(self, run: RunRecord) -> RunRecord:
        now, lookback = self.clock(), timedelta(seconds=run.plan["lookback_seconds"])
        resolved = ResolvedWindow(Window(run.window_start, run.window_end), lookback=lookback)
        self.store.batches.forget(run.id)
        self.store.items.keep_only(run.id, self.scorer.name)
        self.store.items.reopen(run.id, scored=self.rescore)
        planner = self._planner(resolved)
        self.stage(f"reading the calls from {run.window_start:%F %R} to {run.window_end:%F %R} UTC")
        try:
            found = planner.discover(resolved.window, now, run)
        except PartialReadError as error:
            return self._give_up(run, error)
        self.stage(f"planning {len(found.planned):,} of {found.discovered:,} calls")
        planner.write(run, found)
        # a run with counts is fully planned: from here on it can be resumed
        report = {**run.report, "late": found.late}
        run = self.store.runs.update(run.id, held_by=self.owner, counts=found.counts(), report=report)
        return self._finish(run, found, self._work(run))

    def _plan(self, resolved: ResolvedWindow) -> dict[str, Any]:
        """What one must know to read the run's figures later."""
        return {
            "project": self.settings.project,
            "score_name": self.scorer.name,
            "scorer_version": self.scorer.version,
            "judge_model": _judge_model(self.scorer),
            "threshold": getattr(self.scorer, "threshold", 0.0),
            "sample": self._job.sample.model_dump(mode="json"),
            "filters": self._job.filters.model_dump(mode="json"),
            "gate": self._job.gate.model_dump(mode="json"),
            "settle_seconds": self._job.settle.total_seconds(),
            "lookback_seconds": resolved.lookback.total_seconds(),
            "batch_seconds": self._job.batch and self._job.batch.total_seconds(),
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
            project=self.settings.project,
        )

    @property
    def _is_local(self) -> bool:
        return self.settings.source == LOCAL

    def _give_up(self, run: RunRecord, error: PartialReadError) -> RunRecord:
        """The source did not tell all that there is: nothing can be said about the window."""
        partial = {"what": error.what, "read": error.read, "total": error.total, "why": error.why}
        return self.store.runs.update(
            run.id,
            held_by=self.owner,
            state="failed",
            verdict=Verdict.INCONCLUSIVE,
            reasons=(f"partial: {error}",),
            report={**run.report, "partial": partial},
            ended=self.clock(),
        )

    def _work(self, run: RunRecord) -> Tally:
        judging = Judging(
            settings=self.settings,
            store=self.store,
            scorer=self.scorer,
            sinks=self._sinks,
            owner=self.owner,
            deadline=self._deadline,
            clock=self.clock,
            cache=self.cache,
            rescore=bool(run.plan.get("rescore")),
            halted=self.halted,
            stage=self.stage,
        )
        return judging.judge(run, first=lambda: self._judge_canaries(run), progress=self.progress)

    def _judge_canaries(self, run: RunRecord) -> None:
        if run.owner == self.owner:
            self._canaries.judge(run, int(run.counts.get("planned", 0)))

    @property
    def _canaries(self) -> CanaryCheck:
        return CanaryCheck(
            settings=self.settings,
            store=self.store,
            scorer=self.scorer,
            clock=self.clock,
            deadline=self._deadline,
        )

    def _finish(self, run: RunRecord, found: Discovery | None, tally: Tally) -> RunRecord:
        """Write the record before anything is delivered: a sink that hangs must not cost the verdict."""
        if tally.halted:
            return self._keeper.break_off(run, "interrupted")
        if tally.waiting:
            return self._keeper.wait(run)
        assessment = assess(self.store, run, found.probabilities if found else {})
        ruling = self._rule.rule(assessment)
        canary = self._canaries.report(run)
        if canary and canary["reason"]:
            ruling = Ruling(Verdict.INCONCLUSIVE, (canary["reason"], *ruling.reasons))
        reasons = ruling.reasons
        left = self.store.items.remaining(run.id)
        if tally.stopped:
            reasons = (*reasons, self._rule.why_stopped(tally.stopped, left))
        reasons = (*reasons, *budget_reasons(assessment.unscored))
        counts = {**run.counts, **self._outcomes(run.id, left)}
        self.store.runs.update(
            run.id,
            held_by=self.owner,
            state="skipped" if self._rule.samples_nothing else _state(tally, left),
            verdict=ruling.verdict,
            reasons=reasons,
            counts=counts,
            report={
                **assessment.as_dict(),
                "late": run.report.get("late", 0),
                "left": left,
                "agents": {name: self._rule.about_agent(one) for name, one in assessment.agents.items()},
                "pass": pass_report(tally),
                "canaries": canary,
                "batch": batch_dict(self.settings, self.store, run),
                "spent": spent_dict(self.settings, self.store, run),
            },
            ended=self.clock(),
        )
        self._keeper.deliver(self._sinks)
        send_to_review(self.settings, self.store, run.id)
        return with_links(self.settings, self.store, run.id)

    @property
    def _rule(self) -> ToxicityRule:
        return ToxicityRule(self._job, self.allow_empty)

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
