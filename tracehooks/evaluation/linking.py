"""From an item to the trace that its target made, and its scores onto that trace."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from opentelemetry.context import Context, attach, get_current

from tracehooks import runtime
from tracehooks.calls import SpanRecord, agent_calls, span_record
from tracehooks.hooks.attached import Attached
from tracehooks.records import AgentCall, Score
from tracehooks.tracing.context import HERE, SPAN
from tracehooks.tracing.pipeline import FullText, Pipeline
from tracehooks.tracing.trouble import trouble

SOURCE = "evaluate"
MOST_SPANS = 1000  # of one item; the last ones say what the agent said last


class ItemTrace:
    """The spans of one item: those that are started below :meth:`enter`, in any task or thread."""

    def __init__(self) -> None:
        self.trace_ids: set[int] = set()
        self._spans: list[tuple[Any, FullText | None]] = []
        self._lock = threading.Lock()

    def enter(self) -> None:
        """Make the current task, which is the item's own, begin a trace of its own."""
        context = get_current()
        attach(Context({key: value for key, value in context.items() if key not in (SPAN, HERE)}))
        _current.set(self)

    def add(self, span: Any, full: FullText | None) -> None:
        """A span has ended."""
        with self._lock:
            self._spans.append((span, full))
            del self._spans[:-MOST_SPANS]

    def records(self) -> list[SpanRecord]:
        """The spans that have ended, as the store takes them."""
        with self._lock:
            return [span_record(span) for span, _ in self._spans]

    def call(self) -> AgentCall | None:
        """The outermost agent call that ended last; None when nothing was traced."""
        with self._lock:
            spans = list(self._spans)
        calls = agent_calls(_record(span, full) for span, full in spans)
        return max(calls, key=lambda call: (call.end, call.start), default=None)


class Linking:
    """Follows the items of one evaluation while it runs."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._traces: dict[int, ItemTrace] = {}

    def new_item(self) -> ItemTrace:
        """What is to follow one item."""
        return ItemTrace()

    def forget(self, item: ItemTrace) -> None:
        """The item is done."""
        for trace_id in item.trace_ids:
            self._traces.pop(trace_id, None)

    def on_start(self, span: Any) -> None:
        """A span begins, in the context of the item that it belongs to."""
        item = _current.get()
        if item is not None:
            trace_id = span.context.trace_id
            item.trace_ids.add(trace_id)
            self._traces[trace_id] = item

    def on_span(self, span: Any, full: FullText | None, _hooks: tuple[Any, ...]) -> None:
        """A span has ended, wherever."""
        trace_id = span.context.trace_id
        # of a provider without a processor of ours nobody heard that the span began
        item = self._traces.get(trace_id) or _current.get()
        if item is not None:
            item.trace_ids.add(trace_id)
            self._traces[trace_id] = item
            item.add(span, full)


@contextmanager
def linking() -> Iterator[Linking | None]:
    """Follows items within it; None when nothing is traced."""
    pipeline = runtime.pipeline()
    if pipeline is None:
        yield None
        return
    one = Linking(pipeline)
    pipeline.listen(one.on_span, one.on_start)
    try:
        yield one
    finally:
        pipeline.unlisten(one.on_span, one.on_start)


def linked(call: AgentCall, traced: AgentCall | None) -> AgentCall:
    """The item's call as its trace has it. ``call`` says how it ended, and has what the trace leaves out."""
    if traced is None:
        return call
    metadata: Mapping[str, Any] = {**traced.metadata, **call.metadata}
    return replace(
        traced,
        input=traced.input if traced.input is not None else call.input,
        output=traced.output if traced.has_text else call.output,
        error=call.error,
        metadata=metadata,
    )


def keep(call: AgentCall, score: Score, scorer: Any) -> None:
    """Store a score on its call's trace, and deliver it, in the background."""
    try:
        version = str(getattr(scorer, "version", ""))
        attached = Attached(score.at(call.ref), call.trace_id, call.ref, call, SOURCE, version)
        runtime.online().driver.attach(attached)
    except Exception as error:
        trouble("keeping the score of an evaluation", error)


def _record(span: Any, full: FullText | None) -> SpanRecord:
    record = span_record(span)
    return record if full is None else replace(record, attributes=full.restored(record.attributes))


_current: ContextVar[ItemTrace | None] = ContextVar("tracehooks-evaluated-item", default=None)
