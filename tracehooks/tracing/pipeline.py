"""From finished spans to exporters and listeners, off the agent's path, with counts that add up.

The seam for online scoring: ``pipeline.listen(listener)``, where ``listener(span, full, hooks)`` is called on
the thread that ended the span, so it must only decide and queue. ``span`` is the finished ReadableSpan,
``full`` a :class:`FullText` when its texts had to be cut for the span's attributes (else None), ``hooks``
what was given to ``@traced(hooks=[...])``. It hears of every span that ``keep`` lets in, agent or not.

What must also know of spans as they start gives ``on_start``, and of those that end and do not belong here
``on_other``; both hear of everybody's.

The seam for spans of other instrumentations: ``keep``, one function from a finished span to a bool.
"""

import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from tracehooks.tracing import semconv
from tracehooks.tracing.export import Exporting, SpanExporter
from tracehooks.tracing.tally import Tally
from tracehooks.tracing.trouble import trouble
from tracehooks.worker import BackgroundWorker

MAX_QUEUE = 2048
MAX_BATCH = 256
INTERVAL = 1.0  # seconds that a finished span waits for company


@dataclass(frozen=True, slots=True)
class FullText:
    """The uncut JSON of a call's input and output; None for one that was not cut."""

    input: str | None = None
    output: str | None = None

    @property
    def size(self) -> int:
        """Its characters."""
        return len(self.input or "") + len(self.output or "")

    def restored(self, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """The span's attributes with the uncut texts in place of the cut ones."""
        whole = {semconv.INPUT: self.input, semconv.OUTPUT: self.output}
        return {**attributes, **{name: text for name, text in whole.items() if text is not None}}


Listener = Callable[[Any, FullText | None, tuple[Any, ...]], object]
Starter = Callable[[Any], object]


def is_ours(span: Any) -> bool:
    """Whether ``@traced`` made this span."""
    scope = span.instrumentation_scope
    return scope is not None and scope.name == semconv.SCOPE


def text_size(attributes: Mapping[str, Any]) -> int:
    """The characters of all texts among a span's attributes."""
    size = 0  # a loop, as this runs in every traced call: half the cost of a sum
    for value in attributes.values():
        if type(value) is str:
            size += len(value)
    return size


class Pipeline:
    """Queue, exporters, listeners and counters of one ``init()``.

    Whoever begins a span of ours adds it to ``started``.
    """

    def __init__(
        self,
        exporters: Sequence[SpanExporter] = (),
        *,
        keep: Callable[[Any], bool] = is_ours,
        max_queue: int = MAX_QUEUE,
        max_batch: int = MAX_BATCH,
        interval: float = INTERVAL,
    ) -> None:
        self.keep = keep
        self.listeners: tuple[Listener, ...] = ()
        self.tells_all = False
        self.starters: tuple[Starter, ...] = ()
        self.others: tuple[Starter, ...] = ()
        self.refusals: tuple[Listener, ...] = ()
        self.exporting = Exporting(exporters)
        self.worker: BackgroundWorker[Any] = BackgroundWorker(
            "spans", self._export, max_queue=max_queue, max_batch=max_batch, interval=interval
        )
        self.reset_counts()
        _pipelines.add(self)

    def reset_counts(self) -> None:
        """Begin to count anew, as a forked child must: what its parent ended is not its own."""
        self.started = Tally()
        self._ended = Tally()
        self._noted = 0
        self.exporting.reset_counts()

    def listen(
        self,
        listener: Listener,
        on_start: Starter | None = None,
        on_other: Starter | None = None,
        on_refused: Listener | None = None,
        *,
        hooked_only: bool = False,
    ) -> None:
        """Tell ``listener`` of every finished span from now on, ``on_start`` of every one that begins.

        ``on_other`` hears of the finished spans that ``keep`` leaves out; ``on_refused``, where there is one,
        of those that the full queue refused, which then nobody else hears of. With ``hooked_only`` it need
        not be told of spans that no ``@traced(hooks=[...])`` made.
        """
        self.tells_all = self.tells_all or not hooked_only
        self.listeners = (*self.listeners, listener)
        if on_refused is not None:
            self.refusals = (*self.refusals, on_refused)
        if on_start is not None:
            self.starters = (*self.starters, on_start)
        if on_other is not None:
            self.others = (*self.others, on_other)

    def unlisten(self, *functions: Any) -> None:
        """Tell these no more."""
        self.listeners = tuple(one for one in self.listeners if one not in functions)
        self.starters = tuple(one for one in self.starters if one not in functions)
        self.others = tuple(one for one in self.others if one not in functions)
        self.refusals = tuple(one for one in self.refusals if one not in functions)

    @property
    def wants_others(self) -> bool:
        """Whether anybody wants to know of spans that ``@traced`` did not make."""
        return bool(self.exporting.exporters or self.tells_all or self.starters or self.others)

    def on_end(self, span: Any) -> None:
        """A span, anybody's, has ended: take it if it belongs here."""
        if self.keep(span):
            self.take(span)
        else:
            for other in self.others:
                other(span)

    def take(
        self,
        span: Any,
        full: FullText | None = None,
        hooks: tuple[Any, ...] = (),
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        """Queue a finished span for the exporters and tell the listeners of it.

        ``attributes`` are those whose texts count for how much may wait, by default all of the span's.
        """
        self._ended.add()
        taken = True
        if self.exporting.exporters:
            texts = span.attributes or {} if attributes is None else attributes
            taken = self.worker.put(span, text_size(texts))
        if self.tells_all or hooks:
            for listener in self.listeners if taken or not self.refusals else self.refusals:
                try:
                    listener(span, full, hooks)
                except BaseException as error:
                    trouble("a listener", error)

    def flush(self, timeout: float) -> bool:
        """Wait until all spans ended so far are exported; False when some were lost or time ran out."""
        lost = self.dropped
        return self.worker.flush(timeout) and self.dropped == lost

    def close(self, timeout: float) -> bool:
        """Export what is left, then shut the exporters down."""
        deadline = monotonic() + timeout
        done = self.worker.close(timeout)
        self.exporting.shutdown(max(0.0, deadline - monotonic()))
        return done

    def _export(self, batch: list[Any]) -> None:
        """Export, on the worker's thread; once that works, have it noted what was lost until then."""
        before = self.exporting.exported
        self.exporting.export(batch)
        lost = self.dropped - self._noted
        if lost > 0 and self.exporting.exported > before and self.exporting.note_lost(lost):
            self._noted += lost

    @property
    def dropped(self) -> int:
        """Spans that were lost: refused by the full queue, or by an exporter for good."""
        return self.worker.dropped + self.exporting.dropped

    def stats(self) -> dict[str, int]:
        """The counters: ``exported + dropped + pending == ended``."""
        started, ended = self.started.value, self._ended.value
        dropped = self.dropped
        if not self.exporting.exporters:
            return {"started": started, "ended": ended, "exported": ended, "dropped": 0, "pending": 0}
        exported = min(self.exporting.exported, ended - dropped)
        return {
            "started": started,
            "ended": ended,
            "exported": exported,
            "dropped": dropped,
            "pending": ended - exported - dropped,
        }


_pipelines: "weakref.WeakSet[Pipeline]" = weakref.WeakSet()


def _reset_in_child() -> None:
    for pipeline in list(_pipelines):
        pipeline.reset_counts()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_in_child)
