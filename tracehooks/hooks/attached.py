"""Scores attached from outside, on their way to the call that they are about."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

from tracehooks.errors import TracehooksError
from tracehooks.hooks.counts import HookCounts
from tracehooks.hooks.results import Result, Results
from tracehooks.records import AgentCall, Score, TraceRef
from tracehooks.store import ScoreRecord
from tracehooks.tracing.trouble import trouble
from tracehooks.worker import BackgroundWorker

if TYPE_CHECKING:
    from tracehooks.store import Store

MOST_WAITING = 10_000
INTERVAL = 0.25  # seconds between looks for a call that is not in the store yet
SPAN_SECONDS = 3.0  # that a call's span may be under way into the store
TRACE_SECONDS = 60.0  # that another process may need to bring the call of a trace
NAME = "feedback"


@dataclass(slots=True, eq=False)
class Attached:
    """``score`` is about the span ``ref``, or, without one, about the first call of the trace ``trace_id``.

    ``call`` is what is known of the call by whoever attached it, ``source`` who that is.
    """

    score: Score
    trace_id: str
    ref: TraceRef | None = None
    call: AgentCall | None = None
    source: str = NAME
    scorer_version: str = ""
    settled: bool = False
    since: float = field(default_factory=monotonic)

    @property
    def name(self) -> str:
        """What it is counted under."""
        return NAME


class AttachedScores:
    """Finds the call of each attached score, in the background, and hands it on to ``results``."""

    def __init__(self, results: Results) -> None:
        self.counts = HookCounts()
        self._results = results
        self._worker: BackgroundWorker[Attached] = BackgroundWorker(
            "feedback", self._find, max_queue=MOST_WAITING, interval=INTERVAL
        )
        self.begin()

    def begin(self) -> None:
        """Begin anew in a forked child."""
        self._is_urgent = False
        self._lost = 0  # since the last flush
        self._unknown: dict[Attached, None] = {}

    def put(self, attached: Attached) -> bool:
        """Take it in; False when it is lost, because the queue is full or closed."""
        self.counts.trigger(NAME, sampled=True)
        if attached.ref is not None and attached.call is not None:
            self._commit(attached, attached.ref, attached.call)
            return True
        taken = self._worker.put(attached)
        if not taken:
            self.counts.drop(attached, "queue_full")
        return taken

    def flush(self, timeout: float) -> bool:
        """Address all that are there.

        False when time was short, when some were lost since the last flush, or a trace is still unknown.
        """
        self._is_urgent = True
        done = self._worker.flush(timeout)
        self._is_urgent = False
        lost, self._lost = self._lost, 0
        return done and not lost and not self._unknown

    def close(self, timeout: float) -> bool:
        """The same, and stop. A score whose trace is still unknown is lost."""
        done = self.flush(timeout)
        self._worker.close(0)
        for attached in list(self._unknown):
            self._lose(attached, "unknown_trace")
        return done

    def stats(self) -> dict[str, object]:
        """``attached`` = stored + dropped + pending."""
        counts = self.counts.as_dict()
        stored = counts["scored"] + sum(counts["unscored"].values()) + sum(counts["skipped"].values())
        return {
            "attached": counts["triggered"],
            "stored": stored,
            "dropped": counts["dropped"],
            "pending": counts["pending"],
        }

    def _find(self, batch: Sequence[Attached]) -> None:
        try:
            with self._results.using() as store:
                later = [one for one in batch if not self._addressed(store, one)]
        except Exception as error:
            trouble("storing scores", str(error) if isinstance(error, TracehooksError) else error)
            for one in batch:
                self._lose(one, "store_failed")
            return
        for one in later:
            self._unknown[one] = None
            if not self._worker.put(one):
                self._lose(one, "unknown_trace")

    def _addressed(self, store: "Store", one: Attached) -> bool:
        """Whether there is nothing more to be done about it."""
        age = monotonic() - one.since
        if one.ref is not None:
            call = store.calls.get_many([one.ref]).get((one.ref.trace_id, one.ref.span_id))
            if call is None and age < SPAN_SECONDS and not self._is_urgent:
                return False
            self._commit(one, one.ref, call)
            return True
        calls = store.calls.of_trace(one.trace_id)
        if calls:
            self._commit(one, calls[0].ref, calls[0])
        elif age < TRACE_SECONDS:
            return False
        else:
            trouble("attaching a score", f"no call of trace {one.trace_id} came into the store")
            self._lose(one, "unknown_trace")
        return True

    def _commit(self, one: Attached, ref: TraceRef, call: AgentCall | None) -> None:
        self._unknown.pop(one, None)
        score = one.score.at(ref)
        record = ScoreRecord(
            score=score, call=call, scorer_version=one.scorer_version, source=one.source, rescore=True
        )
        self._results.put(
            Result(
                record,
                stored=lambda: self.counts.settle(one, score),
                lost=lambda reason: self.counts.drop(one, reason),
            )
        )

    def _lose(self, one: Attached, reason: str) -> None:
        self._lost += 1
        self._unknown.pop(one, None)
        self.counts.drop(one, reason)
