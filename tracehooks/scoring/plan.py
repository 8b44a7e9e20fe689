"""Planning: which calls of a window a run judges, and what it decided about the others."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple, TypeVar

from tracehooks.protocols import CallSource
from tracehooks.records import AgentCall, Decision, Status, TraceRef
from tracehooks.sampling import Drawn, Sampler
from tracehooks.settings import SampleSettings
from tracehooks.store import RunRecord, Store, WorkItem

CHUNK = 500
T = TypeVar("T")


class Window(NamedTuple):
    """A span of time over the calls' starts: from inclusive, to exclusive; aware UTC."""

    start: datetime
    end: datetime


class CallHead(NamedTuple):
    """What planning needs of a call; the texts stay in the store."""

    trace_id: str
    span_id: str
    name: str

    @property
    def ref(self) -> TraceRef:
        """The call's address."""
        return TraceRef(self.trace_id, self.span_id)


@dataclass(slots=True)
class Discovery:
    """What planning found. ``discovered`` = deferred + sampled_out + already_scored + planned, always.

    ``late`` counts those discovered calls that started before the window, but were not there to be seen
    when their own window was planned. ``planned`` are the draws that a run judges, ``held`` those that an
    earlier pass of the same run planned already.
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

    def discover(self, window: Window, now: datetime, run: RunRecord | None = None) -> Discovery:
        """Look, without writing anything."""
        found = Discovery()
        held = {(item.trace_id, item.span_id) for item in self.store.items.of_run(run.id)} if run else set()
        sampler = self._sampler(found, held)
        for call in self._calls(window):
            found.discovered += 1
            found.late += call.start < window.start
            head = CallHead(call.trace_id, call.span_id, call.name)
            if call.end > now - self.settle:
                found.deferred += 1
                found.decide(head, Decision.DEFERRED, f"ended less than the settle delay before {now:%F %T}Z")
                continue
            sampler.offer(head)
        drawn = sampler.drawn()
        found.probabilities = {(d.item.trace_id, d.item.span_id): d.probability for d in drawn}
        found.held = len(held)
        fresh = [draw for draw in drawn if (draw.item.trace_id, draw.item.span_id) not in held]
        found.planned = list(self._unjudged(fresh, found))
        return found

    def write(self, run: RunRecord, found: Discovery) -> None:
        """Keep the decisions, and put the planned calls up as work items."""
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
                score = stored.get((draw.item.trace_id, draw.item.span_id))
                if score is None or score.status is not Status.SCORED or self.rescore:
                    yield draw
                    continue
                found.already_scored += 1
                found.decide(
                    draw.item, Decision.ALREADY_SCORED, f"scored by {score.source} {score.run_id or ''}"
                )


def chunks(values: Iterable[T], size: int) -> Iterator[list[T]]:
    """``values`` in lists of at most ``size``."""
    iterator = iter(values)
    while chunk := list(islice(iterator, size)):
        yield chunk
