"""The noise night: the datasets' variants asked of the agent, judged, compared with the reference, ruled on.

Two passes over one run: first the agent is asked (``tracehooks.replay.work``), then its answers are judged by
the same machine as any night's (``tracehooks.scoring``). Each goes on where it stopped.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from tracehooks.errors import ConfigurationError
from tracehooks.gate import EXIT_CODES
from tracehooks.jobs.noise_report import baselines, first_errors, ruling_dict
from tracehooks.jobs.noise_setup import Chosen, Selection, chosen_agent, chosen_datasets, prompt_hash
from tracehooks.noise.rows import ScoreKind
from tracehooks.noise.ruling import NoiseRuling, rule_on_noise
from tracehooks.records import AgentCall, Reason, Score, TraceRef, Verdict
from tracehooks.reference import Reference, differences, reference_for
from tracehooks.replay.agents import Agent
from tracehooks.replay.asks import Ask, asks_of
from tracehooks.replay.driver import driving
from tracehooks.replay.rows import ReplayAnswer, answers
from tracehooks.replay.work import HOPELESS, ReplayWork
from tracehooks.scorers.loading import noise_scorer
from tracehooks.scoring import Coordinator, Deliverer, Tally, load_sinks
from tracehooks.scoring.coordinator import this_owner
from tracehooks.scoring.deliver import all_results
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, ScoreRecord, Store, WorkItem
from tracehooks.store.replays import Replay, ReplayCounts, ReplayKey

JOB = "noise"
DELIVERY_SECONDS = 60.0


def utc_now() -> datetime:
    """The time, aware, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisePreview:
    """What a noise run would do: whom it asks, how often, and how many answers a judge would get to see."""

    agent: str
    agent_version: str | None
    datasets: dict[str, str]
    cases: int
    variants: int
    repeats: int
    by_type: dict[str, int]
    score_name: str
    scorer_version: str
    judge_model: str | None
    emptiness: str
    reference: str | None
    incomparable: tuple[str, ...]

    @property
    def asks(self) -> int:
        """Calls of the agent."""
        return self.variants * self.repeats

    @property
    def judge_calls(self) -> int:
        """Requests to a judge, when none has to be repeated; 0 when declared facts decide."""
        return self.asks if self.judge_model else 0


@dataclass(kw_only=True)
class NoiseNight:
    """One noise night on a store: each variant of the datasets asked so many times, once more from the start.

    ``datasets`` are names among those of the settings, or files; ``cases``, ``tags`` and ``types`` leave out
    what is not of them. ``agent`` is an Agent, a name of ``agents`` in the settings, an import path or an
    address. ``scorer`` is the settings' own unless given. ``progress(what, done, total)`` is called as it
    goes on, ``what`` is ``asking`` or ``judging``.

    ``run.plan`` holds ``agent``, ``agent_version``, ``datasets`` ({name: content hash of what is asked}),
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
    datasets: Sequence[str] | None = None
    cases: Sequence[str] | None = None
    tags: Sequence[str] | None = None
    types: Sequence[str] | None = None
    repeats: int | None = None
    agent: Agent | str | None = None
    owner: str = field(default_factory=this_owner)

    def __post_init__(self) -> None:
        if self.repeats is not None and not 1 <= self.repeats <= 100:
            raise ConfigurationError(f"repeats must be within 1 to 100, got {self.repeats}")
        if self.scorer is None:
            self.scorer = noise_scorer(self.settings)
        self._kind = ScoreKind.of(self.scorer)
        self._job = self.settings.jobs.noise
        self._repeats = self.repeats or self._job.repeats
        self._selection = Selection(
            datasets=self.datasets, cases=self.cases, tags=self.tags, types=self.types
        )
        self._chosen: Chosen = chosen_datasets(self.settings, self._selection)
        self._agent: Agent = chosen_agent(self.settings, self.agent)
        self._sinks = load_sinks(self.settings)

    def preview(self) -> NoisePreview:
        """What :meth:`run` would do now; nothing is written and nobody is asked."""
        rows = [row for dataset in self._chosen.datasets for row in dataset.rows()]
        types = sorted({variant.noise_type for _, variant in rows})
        plan = self._plan()
        reference = self._reference(plan)
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
        )

    def run(self) -> RunRecord:
        """Run the night: a fresh pass, whose window is its start."""
        now = self.clock()
        run = self.store.runs.open(JOB, now, now, plan=self._plan(), owner=self.owner)
        return self._from_the_start(run)

    def resume(self, run: RunRecord) -> RunRecord:
        """Finish a run that was cut short; what was answered and judged stays.

        The night must be of the run's agent, datasets, filters and scorer, as :func:`night_for` makes it:
        raises ConfigurationError when a dataset, the agent or the scorer has changed since.
        """
        self._check_unchanged(run)
        self.store.runs.update(run.id, state="running", owner=self.owner)
        if not run.counts:  # cut short while it was planning
            return self._from_the_start(run)
        self.store.items.reopen(run.id)
        return self._work(run)

    def _from_the_start(self, run: RunRecord) -> RunRecord:
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
        return self._work(self.store.runs.update(run.id, counts={"planned": len(planned)}))

    @cached_property
    def _asks(self) -> dict[ReplayKey, Ask]:
        return {ask.key: ask for ask in asks_of(self._chosen.datasets, self._repeats)}

    def _plan(self) -> dict[str, Any]:
        """What one must know to read the run's figures later, and to go on with it."""
        low, high = self._kind.range or (None, None)
        return {
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
        try:
            if self._asks:
                self._ask_agent(run)
            self._keep_unscorable(run)
            return self._finish(run, self._judge(run))
        except KeyboardInterrupt:
            self.store.runs.update(run.id, state="interrupted", ended=self.clock())
            raise
        except Exception as error:
            reason = f"error: {type(error).__name__}: {error}"
            self.store.runs.update(run.id, state="failed", ended=self.clock(), reasons=(reason,))
            raise

    def _ask_agent(self, run: RunRecord) -> None:
        if not self.store.replays.counts(run.id).not_attempted:
            return
        with driving(self.settings, self._agent) as driver:
            work = ReplayWork(
                store=self.store,
                driver=driver,
                asks=self._asks,
                concurrency=self._job.concurrency,
                owner=self.owner,
                progress=lambda done, total: self.progress("asking", done, total),
            )
            asyncio.run(work.work(run.id))

    def _keep_unscorable(self, run: RunRecord) -> None:
        """Put onto the traces of replays that no judge need see why they have no score."""
        found = [one for one in answers(self.store, run) if _says_nothing_yet(one)]
        records = [self._unscorable(run, one.replay) for one in found]
        self.store.scores.commit(
            records,
            project=self.settings.project,
            sinks=tuple(self._sinks),
            all_results=all_results(self._sinks),
        )

    def _unscorable(self, run: RunRecord, replay: Replay) -> ScoreRecord:
        assert replay.reason is not None
        make = Score.skipped if replay.reason is Reason.NOT_APPLICABLE else Score.unscored
        comment = f"Not scored: {replay.detail}"
        score = make(self.scorer.name, replay.reason, comment, metadata=self._labels(replay.key))
        return ScoreRecord(
            score=score.at(TraceRef(replay.trace_id or "", replay.span_id or "")),
            run_id=run.id,
            scorer_version=self.scorer.version,
            source="job",
        )

    def _judge(self, run: RunRecord) -> Tally:
        replays = [one for one in self.store.replays.of_run(run.id) if _can_be_judged(one)]
        self.store.items.add(run.id, (self._item(one) for one in replays))
        keys = {(one.trace_id, one.span_id): one.key for one in replays}
        coordinator = Coordinator(
            store=self.store,
            scorer=self.scorer,
            project=self.settings.project,
            sinks=tuple(self._sinks),
            all_results=all_results(self._sinks),
            concurrency=self.settings.judge.concurrency,
            owner=self.owner,
            progress=lambda tally, total: self.progress("judging", tally.done, total),
            prepare=lambda call: self._with_case(call, keys[call.trace_id, call.span_id]),
            labels=lambda item: self._labels(keys[item.trace_id, item.span_id]),
        )
        return asyncio.run(coordinator.work(run.id))

    def _item(self, replay: Replay) -> WorkItem:
        return WorkItem(
            run_id=replay.run_id,
            trace_id=replay.trace_id or "",
            span_id=replay.span_id or "",
            score_name=self.scorer.name,
        )

    def _with_case(self, call: AgentCall, key: ReplayKey) -> AgentCall:
        """The call with what a noise scorer asks for: the case, and the noise wherever it sat."""
        ask = self._asks[key]
        return replace(call, input=ask.text, metadata={**call.metadata, **ask.metadata})

    def _labels(self, key: ReplayKey) -> dict[str, Any]:
        return self._asks[key].labels

    def _finish(self, run: RunRecord, tally: Tally) -> RunRecord:
        """Write the record before anything is delivered: a sink that hangs must not cost the verdict."""
        found = answers(self.store, run)
        counts, left = self.store.replays.counts(run.id), self.store.items.remaining(run.id)
        reference = self._reference(run.plan)
        unlike = () if reference is None else tuple(differences(reference, run))
        ruling = self._rule(found, None if unlike else reference)
        told = _told(ruling, counts, found, tally, unlike)
        gate = self._job.gate
        report = ruling_dict(told, found, kind=self._kind, min_score=gate.min_score, asks=self._asks)
        self.store.runs.update(
            run.id,
            state=_state(tally, left + counts.not_attempted),
            verdict=told.verdict,
            reasons=told.reasons,
            counts=_counts(counts, told),
            report={
                **report,
                "exit_code": EXIT_CODES[told.verdict],
                "first_error": first_errors(found),
                "baselines": baselines(found, self._asks),
                "reference": _reference_dict(reference, unlike),
                "pass": _pass_report(tally),
            },
            ended=self.clock(),
        )
        Deliverer(self.store, self._sinks, owner=self.owner).deliver(DELIVERY_SECONDS)
        return self.store.runs.get(run.id)

    def _rule(self, found: Sequence[ReplayAnswer], reference: Reference | None) -> NoiseRuling:
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

    def _reference(self, plan: Any) -> Reference | None:
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


def _can_be_judged(replay: Replay) -> bool:
    return replay.done and replay.reason is None and replay.trace_id is not None


def _says_nothing_yet(one: ReplayAnswer) -> bool:
    return one.replay.reason is not None and one.replay.trace_id is not None and one.score is None


def _told(
    ruling: NoiseRuling,
    counts: ReplayCounts,
    found: Sequence[ReplayAnswer],
    tally: Tally,
    unlike: Sequence[str],
) -> NoiseRuling:
    """The ruling with what else there is to say: an agent or a judge that failed, a reference unlike it."""
    before: list[str] = []
    after: list[str] = []
    asked = counts.answered + counts.agent_errors
    if counts.agent_errors:
        how_many = f"{counts.agent_errors} of {asked} calls failed"
        down = f" and it is asked no more after {HOPELESS} in a row" if counts.not_attempted else ""
        text = f"agent: {how_many}{down}; the first: {first_errors(found)}"
        (after if counts.answered else before).append(text)
    if tally.stopped:
        after.append(f"judge: stopped after too many answers were {tally.stopped}")
    before += [f"incomparable: {one}" for one in unlike]
    verdict = Verdict.INCONCLUSIVE if unlike or (asked and not counts.answered) else ruling.verdict
    if unlike:
        before[:] = sorted(before, key=lambda text: not text.startswith("incomparable"))
    return replace(ruling, verdict=verdict, reasons=(*before, *_in_short(ruling), *after))


def _in_short(ruling: NoiseRuling) -> Sequence[str]:
    """The reasons of the types that did not pass; one sentence where all did."""
    if not ruling.types:
        return ruling.reasons
    if open_ones := [one for one in ruling.types if one.verdict is not Verdict.PASS]:
        return [text for text in ruling.reasons if any(text in one.reasons for one in open_ones)]
    held = "reaches its minimums"
    if any(one.comparison for one in ruling.types):
        held += " and holds against the reference"
    scored = f"{ruling.rows.scored} of {ruling.rows.wanted} answers scored"
    return [f"noise: each of {len(ruling.types)} noise types {held}, {scored}"]


def _counts(counts: ReplayCounts, ruling: NoiseRuling) -> dict[str, Any]:
    """Both sums: planned = answered + agent_errors + not_attempted, and = scored + unscored + skipped."""
    rows = ruling.rows
    return {
        "planned": counts.planned,
        "answered": counts.answered,
        "agent_errors": counts.agent_errors,
        "not_attempted": counts.not_attempted,
        "scored": rows.scored,
        "unscored": dict(rows.unscored),
        "skipped": dict(rows.skipped),
    }


def _reference_dict(reference: Reference | None, unlike: Sequence[str]) -> dict[str, Any] | None:
    if reference is None:
        return None
    return {
        "id": reference.id,
        "number": reference.number,
        "blessed_at": reference.blessed_at.isoformat(),
        "runs": list(reference.runs),
        "candidates": len(reference.candidates),
        "differences": list(unlike),
    }


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
