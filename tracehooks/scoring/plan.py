"""Planning: which calls of a window a run judges, and what it decided about the others."""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple, TypeVar

from tracehooks.protocols import CallSource
from tracehooks.records import AgentCall, Decision, Score, Status
from tracehooks.sampling import Drawn, Sampler
from tracehooks.scoring.drawing import Drawing, DrawingSource, DrawRequest
from tracehooks.scoring.heads import CallHead
from tracehooks.settings import SampleSettings
from tracehooks.store import RunRecord, ScoreRecord, Store, WorkItem

CHUNK = 500
T = TypeVar("T")


class Window(NamedTuple):
    """A span of time over the calls' starts: from inclusive, to exclusive; aware UTC."""

    start: datetime
    end: datetime


@dataclass(slots=True)
class Discovery:
    """What planning found. ``discovered`` = deferred + sampled_out + already_scored + planned, always.

    ``late`` counts those discovered calls that started before the window, but were not there to be seen
    when their own window was planned. ``planned`` are the draws that a run judges, ``held`` those that an
    earlier pass of the same run planned already. ``seen`` is how many results a call had when it was looked
    at. ``listed`` are the keys of what a source that draws for itself has looked at, ``brought`` the scores
    that it has of the drawn calls and the store has not.
    """

    discovered: int = 0
    late: int = 0
    deferred: int = 0
    sampled_out: int = 0
    already_scored: int = 0
    held: int = 0
    planned: list[Drawn[CallHead]] = field(default_factory=list)
    probabilities: dict[tuple[str, str], float] = field(default_factory=dict)
    decisions: list[tuple[str, str, Decision, str]] = field(default_factory=list)
    seen: dict[tuple[str, str], int] = field(default_factory=dict)
    listed: "array[int] | None" = None
    brought: list[Score] = field(default_factory=list)

    def counts(self) -> dict[str, int]:
        """The counts by name; ``planned`` includes what earlier passes of the run planned."""
        return {
            "discovered": self.discovered,
            "deferred": self.deferred,
            "sampled_out": self.sampled_out,
            "already_scored": self.already_scored,
            "planned": len(self.planned) + self.held,
        }

    def decide(self, call: CallHead, decision: Decision, reason: str) -> None:
        """Note a decision about a call that is not planned."""
        self.decisions.append((call.trace_id, call.span_id, decision, reason))


@dataclass(frozen=True, slots=True, kw_only=True)
class Planner:
    """Lists a window's calls, draws the sample, and sorts out what is judged already.

    A call is settled when it ended at least ``settle`` ago. Calls that started up to ``lookback`` before the
    window and that no run has decided about are late: they belong to this run.
    """

    store: Store
    source: CallSource
    job: str
    score_name: str
    sample: SampleSettings
    settle: timedelta
    lookback: timedelta = timedelta(0)
    rescore: bool = False
    project: str = ""

    def discover(self, window: Window, now: datetime, run: RunRecord | None = None) -> Discovery:
        """Look, without writing anything but the spans of what is drawn for ``run`` from elsewhere.

        Raises PartialReadError when the source gave up half-way.
        """
        found = Discovery()
        held = {(item.trace_id, item.span_id) for item in self.store.items.of_run(run.id)} if run else set()
        if isinstance(self.source, DrawingSource):
            self._take(self._draw(self.source, window, now, run), found, held, now)
            return found
        sampler = self._sampler(found, held)
        for call in self._calls(window):
            found.discovered += 1
            found.late += call.start < window.start
            head = CallHead(call.trace_id, call.span_id, call.name)
            if call.end > now - self.settle:
                found.deferred += 1
                found.decide(head, Decision.DEFERRED, _too_young(now))
                continue
            sampler.offer(head)
        self._settle(sampler.drawn(), found, held)
        return found

    def _settle(self, drawn: list[Drawn[CallHead]], found: Discovery, held: set[tuple[str, str]]) -> None:
        """Sort out of what was drawn what is judged already, here or where it comes from."""
        found.probabilities = {(d.item.trace_id, d.item.span_id): d.probability for d in drawn}
        found.held = len(held)
        fresh = [draw for draw in drawn if (draw.item.trace_id, draw.item.span_id) not in held]
        found.planned = list(self._unknown_there(self._unjudged(fresh, found), found))

    def _draw(self, source: DrawingSource, window: Window, now: datetime, run: RunRecord | None) -> Drawing:
        start, seen = window.start - self.lookback, array("Q")
        if self.lookback:
            seen = self.store.listed.before(self.job, start, but=run.id if run else None)
        request = DrawRequest(
            start=start,
            window_start=window.start,
            end=window.end,
            settled=now - self.settle,
            salt=self.job,
            size=self.sample.size,
            rate=self.sample.rate,
            stratified=self.sample.strategy == "stratified",
            seen=seen,
        )
        return source.draw(request, None if run is None else self.store.spans.add)

    def _take(self, drawing: Drawing, found: Discovery, held: set[tuple[str, str]], now: datetime) -> None:
        """Make ``found`` of a drawing: what is eligible and not drawn stays where it is, only counted."""
        found.late, found.deferred, found.listed = drawing.late, len(drawing.deferred), drawing.listed
        for head in drawing.deferred:
            found.decide(head, Decision.DEFERRED, _too_young(now))
        ours = held | {(draw.item.trace_id, draw.item.span_id) for draw in drawing.drawn}
        found.sampled_out = max(0, drawing.eligible - len(ours))
        found.discovered = found.deferred + found.sampled_out + len(ours)
        self._settle(drawing.drawn, found, held)

    def write(self, run: RunRecord, found: Discovery) -> None:
        """Keep the decisions, and put the planned calls up as work items."""
        if found.listed is not None:
            self.store.listed.replace(run.id, found.listed)
        for scores in chunks(found.brought, CHUNK):
            self.store.scores.commit([_brought(score) for score in scores], project=self.project, sinks=())
        self.store.decisions.clear(run.id)
        for chunk in chunks(found.decisions, CHUNK):
            self.store.decisions.add(run.id, chunk)
        items = (
            WorkItem(
                run_id=run.id,
                trace_id=draw.item.trace_id,
                span_id=draw.item.span_id,
                score_name=self.score_name,
                probability=draw.probability,
                stratum=draw.stratum,
                seen=found.seen.get((draw.item.trace_id, draw.item.span_id), 0),
            )
            for draw in found.planned
        )
        for group in chunks(items, CHUNK):
            self.store.items.add(run.id, group)

    def _sampler(self, found: Discovery, held: set[tuple[str, str]]) -> Sampler[CallHead]:
        def rejected(call: CallHead) -> None:
            if (call.trace_id, call.span_id) not in held:
                found.sampled_out += 1
                found.decide(call, Decision.SAMPLED_OUT, "not drawn")

        return Sampler(
            salt=self.job,
            trace_id=lambda call: call.trace_id,
            tie=lambda call: call.span_id,
            size=self.sample.size,
            rate=self.sample.rate,
            stratum=(lambda call: call.name) if self.sample.strategy == "stratified" else (lambda call: ""),
            rejected=rejected,
        )

    def _calls(self, window: Window) -> Iterator[AgentCall]:
        if self.lookback:
            early = self.source.calls(window.start - self.lookback, window.start)
            for chunk in chunks(early, CHUNK):
                decided = self.store.decisions.decided(self.job, [call.ref for call in chunk])
                yield from (call for call in chunk if call.ref not in decided)
        yield from self.source.calls(window.start, window.end)

    def _unjudged(self, drawn: list[Drawn[CallHead]], found: Discovery) -> Iterator[Drawn[CallHead]]:
        for chunk in chunks(drawn, CHUNK):
            stored = self.store.scores.of_calls([draw.item.ref for draw in chunk], self.score_name)
            for draw in chunk:
                key = (draw.item.trace_id, draw.item.span_id)
                score = stored.get(key)
                if score is not None:
                    found.seen[key] = score.entries
                if score is None or score.status is not Status.SCORED or self.rescore:
                    yield draw
                    continue
                found.already_scored += 1
                found.decide(
                    draw.item, Decision.ALREADY_SCORED, f"scored by {score.source} {score.run_id or ''}"
                )

    def _unknown_there(self, drawn: Iterable[Drawn[CallHead]], found: Discovery) -> Iterator[Drawn[CallHead]]:
        """Those of ``drawn`` that have no score where they come from either; the others' are brought here."""
        if not isinstance(self.source, DrawingSource) or self.rescore:
            yield from drawn
            return
        for chunk in chunks(drawn, CHUNK):
            known = self.source.known_scores([draw.item.ref for draw in chunk], self.score_name)
            for draw in chunk:
                if (score := known.get(draw.item.ref)) is None:
                    yield draw
                    continue
                found.already_scored += 1
                found.brought.append(score)
                found.decide(draw.item, Decision.ALREADY_SCORED, "its score was there already, and is kept")


def _brought(score: Score) -> ScoreRecord:
    """A score that somebody else's run put there, with what its metadata says of its making."""
    made = score.metadata
    probability = made.get("probability")
    return ScoreRecord(
        score=score,
        scorer_version=str(made.get("scorer_version") or ""),
        probability=probability if isinstance(probability, float) else None,
        source="backend",
    )


def _too_young(now: datetime) -> str:
    return f"ended less than the settle delay before {now:%F %T}Z"


def chunks(values: Iterable[T], size: int) -> Iterator[list[T]]:
    """``values`` in lists of at most ``size``."""
    iterator = iter(values)
    while chunk := list(islice(iterator, size)):
        yield chunk
