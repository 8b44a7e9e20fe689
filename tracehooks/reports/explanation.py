"""Why each call of a trace has or has no score: the facts, gathered from the store."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from tracehooks.calls import SpanRecord, agent_calls
from tracehooks.calls.dialects import outputs_of
from tracehooks.records import EPOCH, AgentCall, Decision, Status
from tracehooks.settings import FilterSettings
from tracehooks.store import CallFilter, DecisionRow, RunRecord, Store, StoredScore, WorkItem
from tracehooks.store.filters import matches
from tracehooks.store.replays import Replay

RUNS_LOOKED_AT = 1000


class Outcome(StrEnum):
    """What became of a call under one score name."""

    SCORED = "scored"
    UNSCORED = "unscored"
    SKIPPED = "skipped"
    PLANNED = "planned"
    SAMPLED_OUT = "sampled_out"
    DEFERRED = "deferred"
    ALREADY_SCORED = "already_scored"
    NEVER_SEEN = "never_seen"


class Unseen(StrEnum):
    """Why no run has seen a call."""

    NO_RUN = "no_run"
    AFTER = "after"
    OUTSIDE = "outside"
    FILTERED = "filtered"
    STOPPED = "stopped"
    LATE = "late"
    REPLAY = "replay"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of one call under one score name, and the records that say so.

    ``run`` is the run that decided, ``unseen`` says why there is none, ``decision`` why that run did not plan
    the call. ``history`` holds all results, oldest first; ``looked_at`` where a missing text was looked for.
    """

    score_name: str
    outcome: Outcome
    score: StoredScore | None = None
    history: tuple[StoredScore, ...] = ()
    decision: DecisionRow | None = None
    item: WorkItem | None = None
    run: RunRecord | None = None
    unseen: Unseen | None = None
    looked_at: tuple[str, ...] = ()
    replay: Replay | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallAnswers:
    """One call of the trace with an answer for each score name. ``call`` is None when it was pruned.

    ``replay`` says which question of which run the call was, if a noise run made it.
    """

    trace_id: str
    span_id: str
    call: AgentCall | None
    answers: tuple[Answer, ...]
    replay: Replay | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """All there is to know about one trace. Without calls, ``last_span`` tells whether one may still come.

    ``hint`` goes behind each command that is suggested.
    """

    trace_id: str
    spans: int
    calls: tuple[CallAnswers, ...]
    last_span: datetime | None = None
    hint: str = ""

    @property
    def known(self) -> bool:
        """Whether anything at all is stored about the trace."""
        return bool(self.spans or self.calls)


def explain_trace(
    store: Store, trace_id: str, *, score_name: str, hint: str = "", elsewhere: Sequence[SpanRecord] = ()
) -> Explanation:
    """Gather what the store knows about ``trace_id``, 32 lower-case hex digits.

    ``score_name`` is the score that one would expect; it is answered for when no other is known.
    ``elsewhere`` are the trace's spans where the store has none: a run's source may have drawn without them.
    """
    spans, facts = store.spans.of_trace(trace_id) or list(elsewhere), _Facts(store, trace_id)
    for call in agent_calls(spans):
        facts.calls.setdefault(call.span_id, call)
    addresses = sorted({*facts.calls, *facts.span_ids()}, key=lambda span: _place(facts.calls.get(span)))
    calls = tuple(
        CallAnswers(
            trace_id=trace_id,
            span_id=span_id,
            call=facts.calls.get(span_id),
            answers=tuple(
                _answer(facts, span_id, name, spans) for name in facts.score_names(span_id) or (score_name,)
            ),
            replay=facts.replay(span_id),
        )
        for span_id in addresses
    )
    last = max((span.end_ns for span in spans), default=None)
    return Explanation(trace_id=trace_id, spans=len(spans), calls=calls, last_span=_time(last), hint=hint)


def _place(call: AgentCall | None) -> tuple[bool, datetime | None]:
    return (call is None, call.start if call else None)


def _time(ns: int | None) -> datetime | None:
    return None if ns is None else EPOCH + timedelta(microseconds=ns // 1000)


class _Facts:
    """The rows about one trace, and the runs they point to."""

    def __init__(self, store: Store, trace_id: str) -> None:
        self.store, self.trace_id = store, trace_id
        self.calls = {call.span_id: call for call in store.calls.of_trace(trace_id)}
        self.scores = store.scores.of_trace(trace_id)
        self.items = store.items.of_trace(trace_id)
        self.decisions = store.decisions.of_trace(trace_id)
        self.replays = store.replays.of_trace(trace_id)
        self.runs = {run.id: run for run in store.runs.list(limit=RUNS_LOOKED_AT)}
        named = {row.run_id for rows in (self.items, self.decisions, self.replays) for row in rows}
        self.runs.update({run_id: store.runs.get(run_id) for run_id in named - set(self.runs)})

    def span_ids(self) -> set[str]:
        rows: tuple[Sequence[StoredScore | WorkItem | DecisionRow], ...]
        rows = self.scores, self.items, self.decisions
        return {row.span_id for group in rows for row in group}

    def score_names(self, span_id: str) -> list[str]:
        """The names of the scores that somebody made or wanted of this call."""
        names = [row.name for row in self.scores if row.span_id == span_id]
        names += [row.score_name for row in self.items if row.span_id == span_id]
        for decision in self.decisions:
            if decision.span_id == span_id:
                names.append(self.runs[decision.run_id].plan.get("score_name", ""))
        if (replay := self.replay(span_id)) is not None:
            names.append(self.runs[replay.run_id].plan.get("score_name", ""))
        return sorted(set(filter(None, names)))

    def replay(self, span_id: str) -> Replay | None:
        return next((row for row in self.replays if row.span_id == span_id), None)

    def score(self, span_id: str, name: str) -> StoredScore | None:
        return next((row for row in self.scores if (row.span_id, row.name) == (span_id, name)), None)

    def item(self, span_id: str, name: str) -> WorkItem | None:
        wanted = (span_id, name)
        return next((row for row in self.items if (row.span_id, row.score_name) == wanted), None)

    def decision(self, span_id: str, name: str) -> DecisionRow | None:
        about = (row for row in self.decisions if row.span_id == span_id)
        return next((row for row in about if self.runs[row.run_id].plan.get("score_name") == name), None)


def _answer(facts: _Facts, span_id: str, name: str, spans: Sequence[SpanRecord]) -> Answer:
    score, item = facts.score(span_id, name), facts.item(span_id, name)
    decision, replay = facts.decision(span_id, name), facts.replay(span_id)
    if score is not None:
        skipped = score.status is Status.SKIPPED
        return Answer(
            score_name=name,
            outcome=Outcome(score.status),
            score=score,
            history=tuple(facts.store.scores.history(score.id)),
            decision=decision,
            item=item,
            run=facts.runs.get(score.run_id or ""),
            looked_at=tuple(places(spans, span_id)) if skipped else (),
            replay=replay,
        )
    if item is not None and item.state != "done":
        run = facts.runs[item.run_id]
        return Answer(score_name=name, outcome=Outcome.PLANNED, item=item, run=run, decision=decision)
    if decision is not None:
        outcome = Outcome(Decision(decision.decision))
        return Answer(score_name=name, outcome=outcome, decision=decision, run=facts.runs[decision.run_id])
    if replay is not None:
        run = facts.runs[replay.run_id]
        return Answer(
            score_name=name, outcome=Outcome.NEVER_SEEN, unseen=Unseen.REPLAY, run=run, replay=replay
        )
    call = facts.calls.get(span_id)
    if call is not None and (listing := _listing_run(facts, call)) is not None:
        return Answer(score_name=name, outcome=Outcome.SAMPLED_OUT, run=listing)
    unseen, seen_by = _unseen(facts, call) if call else (Unseen.NO_RUN, None)
    return Answer(score_name=name, outcome=Outcome.NEVER_SEEN, unseen=unseen, run=seen_by)


def _listing_run(facts: _Facts, call: AgentCall) -> RunRecord | None:
    """The newest run that saw ``call`` in a listing of its source, and did not draw it."""
    keys = {int(call.span_id, 16), int(call.trace_id[:16], 16)}
    runs = (run for run in facts.runs.values() if run.counts and call.start < run.window_end)
    for run in sorted(runs, key=lambda run: run.started, reverse=True):
        early = run.window_start - timedelta(seconds=run.plan.get("lookback_seconds") or 0)
        if call.start >= early and not keys.isdisjoint(facts.store.listed.of_run(run.id)):
            return run
    return None


def _unseen(facts: _Facts, call: AgentCall) -> tuple[Unseen, RunRecord | None]:
    """Why no run has decided about ``call``, and the run that says so: the newest whose window holds it."""
    windows = (run for run in facts.runs.values() if run.job != "noise")  # which asks, and looks at no calls
    runs = sorted(windows, key=lambda run: run.started, reverse=True)
    if not runs:
        return Unseen.NO_RUN, None
    holding = [run for run in runs if run.window_start <= call.start < run.window_end]
    if not holding:
        newest = max(runs, key=lambda run: run.window_end)
        return (Unseen.AFTER if call.start >= newest.window_end else Unseen.OUTSIDE), newest
    run = next((run for run in holding if _passes(run, call)), None)
    if run is None:
        return Unseen.FILTERED, holding[0]
    return (Unseen.LATE if run.counts else Unseen.STOPPED), run


def _passes(run: RunRecord, call: AgentCall) -> bool:
    return matches(CallFilter(**FilterSettings(**(run.plan.get("filters") or {})).model_dump()), call)


def places(spans: Iterable[SpanRecord], span_id: str) -> list[str]:
    """The names of the attributes of the span in which its text was looked for and which are there."""
    return [passage.source for span in spans if span.span_id == span_id for passage in outputs_of(span)]
