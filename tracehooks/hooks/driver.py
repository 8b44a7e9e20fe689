"""The driver: finished spans in, committed and delivered scores out, all of it in the background."""

import logging
import os
import weakref
from collections.abc import Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from tracehooks.calls import span_record
from tracehooks.calls.context import name_of
from tracehooks.calls.named_text import TextPath
from tracehooks.hooks.attached import Attached, AttachedScores
from tracehooks.hooks.counts import HookCounts
from tracehooks.hooks.hook import ScoringHook
from tracehooks.hooks.job import EndedCall, Job
from tracehooks.hooks.lane import is_scoring
from tracehooks.hooks.lanes import Lanes
from tracehooks.hooks.outermost import Outermost
from tracehooks.hooks.paying import Paying
from tracehooks.hooks.results import Result, Results
from tracehooks.records import Reason, Score, Status
from tracehooks.sampling import in_sample
from tracehooks.store import ScoreRecord
from tracehooks.tracing.pipeline import FullText
from tracehooks.tracing.planted import REPLAYING
from tracehooks.tracing.trouble import trouble

if TYPE_CHECKING:
    from tracehooks.settings import Settings

logger = logging.getLogger("tracehooks")

DELIVERY_SECONDS = 2.0  # for the sinks at the end of the process
LEAST = 0.1  # for them once they have not taken everything
RESERVE = 0.2  # share of a timeout that scoring leaves to what comes after it


class HookDriver:
    """Scores what hooks want. ``hooks`` are those of the settings; decorators bring their own.

    Raises ConfigurationError when the settings name a sink that is not there.
    """

    def __init__(
        self, settings: "Settings", hooks: Sequence[ScoringHook] = (), *, interval: float = 0.2
    ) -> None:
        self.settings = settings
        self._text = TextPath.parse(settings.text) if settings.text else None
        self.counts = HookCounts()
        self._hooks = tuple(hooks)
        self._outermost = Outermost(self._is_wanted) if hooks else None
        self._results = Results(settings, interval=interval)
        self._attached = AttachedScores(self._results)
        self._begin()
        _drivers.add(self)

    def _begin(self) -> None:
        self._lanes = Lanes(self._finish, self.counts.drop)
        self._paying = Paying(self.settings, self._results.using)
        self._is_started = self._told = False
        self._for_sinks = DELIVERY_SECONDS
        self._complained: set[str] = set()

    def begin_in_child(self) -> None:
        """Begin anew after a fork, with nothing pending: what the parent has, the parent does."""
        self._begin()
        self._results.begin()
        self._attached.begin()

    def on_start(self, span: Any) -> None:
        """A span, anybody's, begins."""
        if self._outermost is not None and not _is_ours():
            self._outermost.started(span)

    def on_span(
        self,
        span: Any,
        full: FullText | None = None,
        hooks: tuple[Any, ...] = (),
        *,
        refused: bool = False,
    ) -> None:
        """Decide about one finished span, on the thread that ended it.

        ``refused``: its queue was full, so the span is lost, and a score would point to nothing.
        """
        if _is_ours():
            return
        if hooks:
            ended = EndedCall(span, full, text=self._text)
            for hook in hooks:
                self._trigger(Job(hook, ended, self._paying), refused=refused)
        if self._outermost is None:
            return
        own = {hook.scorer.name for hook in hooks}
        for found in self._outermost.ended(span, full):
            ended = EndedCall(*found, text=self._text)
            for hook in self._wanting(found.span):
                # what is wanted by the decorator is not wanted again by the settings
                if found.span is not span or hook.scorer.name not in own:
                    self._trigger(Job(hook, ended, self._paying), refused=refused and found.span is span)

    def attach(self, attached: Attached) -> bool:
        """Store and deliver a score from outside; False when it is lost."""
        self._start()
        return self._attached.put(attached)

    def flush(self, timeout: float) -> bool:
        """Wait until all that was taken in is scored, stored and delivered.

        False when ``timeout`` seconds were not enough, when a result was lost since the last flush, and when
        a sink did not take everything. Calls that a full queue refused are counted, and not waited for.
        """
        return self._flush(timeout, timeout)

    def finish(self, timeout: float) -> bool:
        """Flush at the end of the process.

        Sinks get a part of the time only: what they do not take is safe in the store, unless that ends too.
        """
        if not self._results.is_in_memory:
            done = self._flush(timeout, self._for_sinks)
            # there may be several calls on the way out, and a sink that hangs does so in each
            self._for_sinks = DELIVERY_SECONDS if done else LEAST
            return done
        done = self._flush(timeout, timeout)
        self._tell_what_ends()
        return done

    def _tell_what_ends(self) -> None:
        """What of a store in memory no sink has taken is lost; told once."""
        self._results.look()
        counts = self.stats()
        left = sum(counts["undelivered"].values())
        if not counts["undelivered"]:
            left = counts["scored"] + counts["feedback"]["stored"]
        if left and not self._told:
            self._told = True
            logger.warning("store: memory: %d scores that no sink has taken end with the process", left)

    def _flush(self, timeout: float, for_sinks: float) -> bool:
        end = monotonic() + timeout
        done = self._lanes.flush((1 - RESERVE) * timeout)
        self._write_down()
        done = self._attached.flush(max(0.0, end - monotonic())) and done
        return self._results.flush(max(0.0, end - monotonic()), for_sinks) and done

    def _write_down(self) -> None:
        try:
            self._paying.close()
        except Exception as error:
            trouble("counting what judges used", error)

    def close(self, timeout: float) -> bool:
        """Flush within ``timeout`` seconds, then stop. What is left is dropped and counted."""
        end = monotonic() + timeout
        done = self._lanes.close((1 - RESERVE) * timeout)
        self._write_down()
        done = self._attached.close(max(0.0, end - monotonic())) and done
        return self._results.close(max(0.0, end - monotonic())) and done

    def stats(self) -> dict[str, Any]:
        """The counts of hooks, of feedback, and what waits for sinks."""
        counts = self.counts.as_dict()
        return {
            **counts,
            "feedback": self._attached.stats(),
            "undelivered": self._results.undelivered(),
        }

    def _is_wanted(self, trace_id: str) -> bool:
        return any(in_sample(trace_id, hook.rate) for hook in self._hooks)

    def _wanting(self, span: Any) -> list[ScoringHook]:
        name = name_of(span_record(span)) if any(hook.agents != ("*",) for hook in self._hooks) else ""
        return [hook for hook in self._hooks if hook.wants(name)]

    def _trigger(self, job: Job, *, refused: bool) -> None:
        sampled = in_sample(job.trace_id, job.hook.rate)
        self.counts.trigger(job.name, sampled=sampled)
        if not sampled:
            return
        if refused:
            self.counts.drop(job, "span_dropped")
            return
        self._start()
        self._lanes.put(job)

    def _start(self) -> None:
        """Start the later threads with the first work: at its end the interpreter starts none any more."""
        if not self._is_started:
            self._is_started = True
            self._results.start()

    def _finish(self, job: Job, score: Score) -> None:
        if score.status is Status.UNSCORED:
            self._complain(job, score)
        record = ScoreRecord(
            score=score,
            call=job.call,
            scorer_version=str(getattr(job.hook.scorer, "version", "")),
            probability=job.hook.rate,
            source="hook",
        )
        self._results.put(
            Result(
                record,
                stored=partial(self.counts.settle, job, score),
                lost=partial(self.counts.drop, job),
            )
        )

    def _complain(self, job: Job, score: Score) -> None:
        """Tell of a scorer's first failure; its text may quote what was traced, so that is in the store."""
        if job.name in self._complained:
            return
        self._complained.add(job.name)
        logger.warning(
            "scorer %s gave no score: %s, see `tracehooks explain %s`; from here on only counted",
            job.name,
            score.reason_code or Reason.SCORER_ERROR,
            job.trace_id,
        )


def _is_ours() -> bool:
    """Whether a scorer runs here, or a replay, which has its answers scored itself."""
    return is_scoring() or REPLAYING.get()


_drivers: "weakref.WeakSet[HookDriver]" = weakref.WeakSet()


def _begin_in_child() -> None:
    for driver in list(_drivers):
        driver.begin_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_in_child)
