"""The noise night: the datasets' variants asked of the agent, judged, compared with the reference, ruled on.

Two passes over one run: first the agent is asked (``tracehooks.replay.work``), then its answers are judged by
the same machine as any night's (``tracehooks.scoring``). Each goes on where it stopped.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tracehooks.errors import ConfigurationError
from tracehooks.jobs.belonging import check_project
from tracehooks.jobs.judging import pass_report
from tracehooks.jobs.keeper import UNDER_WAY, RunKeeper, utc_now
from tracehooks.jobs.noise_judging import NoiseJudging
from tracehooks.jobs.noise_outcome import NoiseOutcome
from tracehooks.jobs.noise_preview import NoisePreview
from tracehooks.jobs.noise_report import baselines, first_errors, ruling_dict
from tracehooks.jobs.noise_setup import Chosen, Selection, chosen_agent, chosen_datasets, prompt_hash
from tracehooks.noise.rows import ScoreKind
from tracehooks.reference import Reference, differences, reference_for
from tracehooks.replay.agents import Agent
from tracehooks.replay.asks import Ask, asks_of
from tracehooks.replay.driver import driving
from tracehooks.replay.rows import ReplayAnswer, answers
from tracehooks.replay.work import ReplayWork
from tracehooks.scorers.loading import noise_scorer
from tracehooks.scoring import Tally, load_sinks
from tracehooks.scoring.batch_report import batch_dict
from tracehooks.scoring.batching import is_early
from tracehooks.scoring.canaries import CanaryCheck, canaries_for
from tracehooks.scoring.coordinator import this_owner
from tracehooks.scoring.estimating import estimate
from tracehooks.scoring.links import with_links
from tracehooks.scoring.spending import budget_reasons, check_budget, spent_dict
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store
from tracehooks.store.replays import Replay, ReplayKey

if TYPE_CHECKING:
    from tracehooks.noise import NoiseRuling

JOB = "noise"


@dataclass(kw_only=True)
class NoiseNight:
    """One noise night on a store: each variant of the datasets asked so many times, once more from the start.

    ``datasets`` are names among those of the settings, or files; ``cases``, ``tags`` and ``types`` leave out
    what is not of them. ``agent`` is an Agent, a name of ``agents`` in the settings, an import path or an
    address. ``scorer`` is the settings' own unless given. ``progress(what, done, total)`` is called as it
    goes on, ``what`` is ``asking`` or ``judging``; ``halted`` is asked whether it is to stop.

    ``run.plan`` holds ``project``, ``agent``, ``agent_version``, ``datasets`` ({name: hash of it}),
    ``cases`` ({dataset: {case: hash}}), ``filters``, ``score_name``, ``direction``, ``range``,
    ``scorer_version``, ``judge_model``, ``prompt_hash``, ``repeats`` and ``gate``; ``run.report`` the ruling.
    Raises ConfigurationError, before anything is asked, for datasets or an agent that cannot be loaded.
    """

    settings: Settings
    store: Store
    scorer: Any = None
    clock: Callable[[], datetime] = utc_now
    progress: Callable[[str, int, int], None] = lambda what, done, total: None
    allow_empty: bool = False
    cache: bool = True
    datasets: Sequence[str] | None = None
    cases: Sequence[str] | None = None
    tags: Sequence[str] | None = None
    types: Sequence[str] | None = None
    repeats: int | None = None
    agent: Agent | str | None = None
    owner: str = field(default_factory=this_owner)
    halted: Callable[[], bool] = lambda: False

    def __post_init__(self) -> None:
        if self.repeats is not None and not 1 <= self.repeats <= 100:
            raise ConfigurationError(f"repeats must be within 1 to 100, got {self.repeats}")
        if self.scorer is None:
            self.scorer = noise_scorer(self.settings)
        check_budget(self.settings, self.scorer)
        self._kind = ScoreKind.of(self.scorer)
        self._job = self.settings.jobs.noise
        self._repeats = self.repeats or self._job.repeats
        self._selection = Selection(
            datasets=self.datasets, cases=self.cases, tags=self.tags, types=self.types
        )
        self._chosen: Chosen = chosen_datasets(self.settings, self._selection)
        self._agent: Agent = chosen_agent(self.settings, self.agent)
        self._sinks = load_sinks(self.settings)
        self._keeper = RunKeeper(settings=self.settings, store=self.store, owner=self.owner, clock=self.clock)

    def preview(self) -> NoisePreview:
        """What :meth:`run` would do now; nothing is written and nobody is asked."""
        check_project(self.store, self.settings.project)
        rows = [row for dataset in self._chosen.datasets for row in dataset.rows()]
        types = sorted({variant.noise_type for _, variant in rows})
        plan = self._plan()
        reference = self._reference(plan)
        asks = len(rows) * self._repeats
        frozen = canaries_for(self.settings, self.scorer, asks)
        start = self.clock()
        would_be = RunRecord(id="", job=JOB, window_start=start, window_end=start, plan=plan, started=start)
        return NoisePreview(
            agent=self._agent.name,
            agent_version=self._agent.version,
            datasets=self._chosen.hashes,
            cases=len({(id(case)) for case, _ in rows}),
            variants=len(rows),
            repeats=self._repeats,
            by_type={name: sum(variant.noise_type == name for _, variant in rows) for name in types},
            score_name=self.scorer.name,
            scorer_version=self.scorer.version,
            judge_model=plan["judge_model"],
            emptiness=self._chosen.emptiness,
            reference=None if reference is None else reference.id,
            incomparable=() if reference is None else tuple(differences(reference, would_be)),
            estimate=estimate(
                self.settings,
                self.store,
                self.scorer,
                asks + len(frozen),
                in_batch=self._job.batch is not None,
            ),
            canaries=len(frozen),
        )

    def run(self) -> RunRecord:
        """Run the night: a fresh pass, whose window is its start."""
        now = self.clock()
        run = self._keeper.open(JOB, now, now, plan=self._plan())
        return self._go_on(self._taken(run))

    def attempt(self, moment: datetime) -> RunRecord | None:
        """Bring the run of ``moment`` to its end, however far it came; None while another works on it.

        One that has come to an end, be it that it failed, stays as it is.
        """
        run = self._keeper.open(JOB, moment, moment, plan=self._plan())
        if run.state not in UNDER_WAY or is_early(self.store, run, self.clock()):
            return run
        self._check_unchanged(run)
        mine = self._keeper.take(run)
        return None if mine is None else self._go_on(mine)

    def resume(self, run: RunRecord) -> RunRecord:
        """Finish a run that was cut short; what was answered stays, and what has a score.

        The night must be of the run's agent, datasets, filters and scorer, as :func:`night_for` makes it:
        raises ConfigurationError when one of them has changed since, or another process works on the run.
        """
        self._check_unchanged(run)
        mine = self._taken(run)
        self.store.items.reopen(run.id)
        return self._go_on(mine)

    def _taken(self, run: RunRecord) -> RunRecord:
        mine = self._keeper.take(run)
        if mine is None:
            raise ConfigurationError(f"run {run.id} is being worked on by another process; wait for it")
        return mine

    def _go_on(self, run: RunRecord) -> RunRecord:
        """Do what is left of a run that is ours, to its verdict. It says so when it breaks off."""
        self._deadline = time.time() + self._job.time_limit.total_seconds()
        with self._keeper.working_on(run):
            return self._work(run if run.counts else self._planned(run))

    def _planned(self, run: RunRecord) -> RunRecord:
        planned = [
            Replay(
                run_id=run.id,
                agent=self._agent.name,
                dataset=ask.dataset,
                case=ask.case,
                variant=ask.variant,
                repeat=ask.repeat,
                noise_type=ask.noise_type,
                position=position,
                min_score=ask.min_score,
            )
            for position, ask in enumerate(self._asks.values())
        ]
        self.store.replays.add(planned)
        # a run with counts is fully planned: from here on it can be resumed
        return self.store.runs.update(run.id, held_by=self.owner, counts={"planned": len(planned)})

    @cached_property
    def _asks(self) -> dict[ReplayKey, Ask]:
        return {ask.key: ask for ask in asks_of(self._chosen.datasets, self._repeats)}

    def _plan(self) -> dict[str, Any]:
        """What one must know to read the run's figures later, and to go on with it."""
        low, high = self._kind.range or (None, None)
        return {
            "project": self.settings.project,
            "agent": self._agent.name,
            "agent_version": self._agent.version,
            "agent_target": self._agent.target,
            "agent_given": self.agent if isinstance(self.agent, str) else None,
            "datasets": self._chosen.hashes,
            "cases": self._chosen.cases,
            "filters": self._selection.filters,
            "score_name": self.scorer.name,
            "direction": self._kind.direction,
            "range": None if self._kind.range is None else [low, high],
            "scorer_version": self.scorer.version,
            "judge_model": getattr(getattr(self.scorer, "judge", None), "model", None),
            "prompt_hash": prompt_hash(self.scorer),
            "repeats": self._repeats,
            "batch_seconds": self._job.batch and self._job.batch.total_seconds(),
            "gate": self._job.gate.model_dump(mode="json"),
        }

    def _check_unchanged(self, run: RunRecord) -> None:
        plan = self._plan()
        for key in ("agent", "agent_version", "datasets", "score_name", "scorer_version", "repeats"):
            if run.plan.get(key) != plan[key]:
                raise ConfigurationError(
                    f"run {run.id} cannot go on: its {key.replace('_', ' ')} has changed since it began; "
                    "`tracehooks run noise` makes a new one"
                )

    def _work(self, run: RunRecord) -> RunRecord:
        if self.store.replays.counts(run.id).waiting:
            self._ask_agent(run)
        judging = NoiseJudging(
            settings=self.settings,
            store=self.store,
            scorer=self.scorer,
            sinks=self._sinks,
            asks=self._asks,
            canaries=self._canaries,
            owner=self.owner,
            deadline=self._deadline,
            clock=self.clock,
            cache=self.cache,
            halted=self.halted,
            progress=lambda done, total: self.progress("judging", done, total),
        )
        tally = judging.judge(run)
        if tally.waiting:
            return self._keeper.wait(run)
        return self._keeper.break_off(run, "interrupted") if tally.halted else self._finish(run, tally)

    @property
    def _canaries(self) -> CanaryCheck:
        return CanaryCheck(
            settings=self.settings,
            store=self.store,
            scorer=self.scorer,
            clock=self.clock,
            deadline=self._deadline,
        )

    def _ask_agent(self, run: RunRecord) -> None:
        with driving(self.settings, self._agent) as driver:
            work = ReplayWork(
                store=self.store,
                driver=driver,
                asks=self._asks,
                concurrency=self._job.concurrency,
                owner=self.owner,
                deadline=self._deadline,
                halted=self.halted,
                progress=lambda done, total: self.progress("asking", done, total),
            )
            asyncio.run(work.work(run.id))

    def _finish(self, run: RunRecord, tally: Tally) -> RunRecord:
        """Write the record before anything is delivered: a sink that hangs must not cost the verdict."""
        found = answers(self.store, run)
        reference = self._reference(run.plan)
        # a run with nothing in it has nothing to compare, whatever it was of
        unlike = () if reference is None or not found else tuple(differences(reference, run))
        canary = self._canaries.report(run)
        outcome = NoiseOutcome(
            ruling=self._rule(found, None if unlike else reference),
            answers=found,
            replays=self.store.replays.counts(run.id),
            left=self.store.items.remaining(run.id),
            tally=tally,
            reference=reference,
            unlike=unlike,
            shift=canary["reason"] if canary else None,
        )
        self.store.runs.update(
            run.id,
            held_by=self.owner,
            state=outcome.state,
            verdict=outcome.verdict,
            reasons=(*outcome.reasons, *budget_reasons(outcome.counts["unscored"])),
            counts=outcome.counts,
            report={**self._report(run, outcome), "canaries": canary},
            ended=self.clock(),
        )
        self._keeper.deliver(self._sinks)
        return with_links(self.settings, self.store, run.id)

    def _report(self, run: RunRecord, outcome: NoiseOutcome) -> dict[str, Any]:
        least = self._job.gate.min_score
        told = ruling_dict(outcome.told, outcome.answers, kind=self._kind, min_score=least, asks=self._asks)
        return {
            **told,
            "first_error": first_errors(outcome.answers),
            "baselines": baselines(outcome.answers, self._asks),
            "reference": outcome.reference_dict,
            "degraded": outcome.ruling.rows.partial,
            "pass": pass_report(outcome.tally),
            "batch": batch_dict(self.settings, self.store, run),
            "spent": spent_dict(self.settings, self.store, run),
        }

    def _rule(self, found: Sequence[ReplayAnswer], reference: Reference | None) -> "NoiseRuling":
        # needs numpy and scipy: loaded when there is something to rule on
        from tracehooks.noise import rule_on_noise

        gate = self._job.gate
        return rule_on_noise(
            [one.row for one in found],
            None if reference is None else reference.noise_rows,
            kind=self._kind,
            margin=gate.margin,
            min_score=gate.min_score,
            min_coverage=gate.min_coverage,
            allow_empty=self.allow_empty,
            empty=self._chosen.emptiness or "the datasets hold no variants",
        )

    def _reference(self, plan: Mapping[str, Any]) -> Reference | None:
        return reference_for(
            self.store,
            project=self.settings.project,
            agent=str(plan["agent"]),
            score_name=str(plan["score_name"]),
        )


def night_for(run: RunRecord, **options: Any) -> NoiseNight:
    """The night that goes on with ``run``: its agent, datasets and filters. ``options`` are the night's."""
    selection = Selection.of(dict(run.plan.get("filters") or {}))
    return NoiseNight(
        datasets=selection.datasets,
        cases=selection.cases,
        tags=selection.tags,
        types=selection.types,
        repeats=run.plan.get("repeats"),
        **{"agent": run.plan.get("agent_given"), **options},
    )
