"""From candidates to calls: their traces read whole, judged complete, and made small enough to be kept."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from tracehooks.calls import SpanRecord, agent_calls
from tracehooks.calls.langfuse import INPUT, OUTPUT
from tracehooks.exporters.langfuse.candidates import Candidate
from tracehooks.exporters.langfuse.filters import is_left_out
from tracehooks.exporters.langfuse.observations import EVENT
from tracehooks.exporters.langfuse.survey import NEVER, waits, written
from tracehooks.exporters.langfuse.traces import TOGETHER, Traces
from tracehooks.records import AgentCall
from tracehooks.scoring.drawing import DrawRequest
from tracehooks.scoring.heads import CallHead
from tracehooks.store import CallFilter
from tracehooks.store.filters import matches

Row = Mapping[str, Any]

LONG = 200  # characters of an attribute that is a text, and no name


class Expanded(NamedTuple):
    """One trace: its calls, what is kept of it, how many calls it was counted as, and what has to wait."""

    calls: list[AgentCall]
    spans: list[SpanRecord]
    counted: int
    deferred: list[CallHead]
    waiting: set[int]


class Expander:
    """Reads the traces of candidates, and tells which calls in them are wanted."""

    def __init__(self, traces: Traces, filters: CallFilter) -> None:
        self.traces, self._filter = traces, filters

    def expanded(self, candidates: Sequence[Candidate], request: DrawRequest) -> Iterator[Expanded]:
        """Each trace of ``candidates``, whole, by their keys."""
        by_trace: dict[str, list[Candidate]] = {}
        for each in candidates:
            by_trace.setdefault(each.trace_id, []).append(each)
        todo = list(by_trace)
        for place in range(0, len(todo), TOGETHER):
            some = todo[place : place + TOGETHER]
            since = min(datetime.fromisoformat(each.start) for trace in some for each in by_trace[trace])
            for trace_id, (rows, spans) in zip(some, self.traces.read(some, since), strict=True):
                yield self._expand(by_trace[trace_id], rows, spans, request)

    def _expand(
        self,
        candidates: Sequence[Candidate],
        rows: Sequence[Row],
        spans: list[SpanRecord],
        request: DrawRequest,
    ) -> Expanded:
        calls = [call for call in agent_calls(spans) if self._counts(call, request)]
        counted = sum(not each.quiet for each in candidates)
        keys = {int((each.trace_id if each.is_top else each.span_id)[:16], 16) for each in candidates}
        if calls and _is_open(rows, request):
            heads = [CallHead(call.trace_id, call.span_id, call.name) for call in calls]
            return Expanded([], [], counted, heads, keys)
        return Expanded(sorted(calls, key=lambda call: call.span_id), lean(spans), counted, [], set())

    def _counts(self, call: AgentCall, request: DrawRequest) -> bool:
        """Whether the call is this request's: in its window, new to it, and what the filters ask for."""
        if not floor(request.start) <= call.start < floor(request.end):
            return False
        if call.start < floor(request.window_start) and request.was_seen(int(call.span_id, 16)):
            return False
        left_out = is_left_out(call.environment, self._filter.environment)
        return not left_out and matches(self._filter, call)


def lean(spans: list[SpanRecord]) -> list[SpanRecord]:
    """``spans`` without the texts of those below the calls, where the calls say the same without them."""
    calls = agent_calls(spans)
    tops = {call.span_id for call in calls}
    stripped = [span if span.span_id in tops else _without_texts(span) for span in spans]
    return stripped if agent_calls(stripped) == calls else spans


def _without_texts(span: SpanRecord) -> SpanRecord:
    kept = {
        name: value
        for name, value in span.attributes.items()
        if name not in (INPUT, OUTPUT) and not (isinstance(value, str) and len(value) > LONG)
    }
    if len(kept) == len(span.attributes):
        return span
    return replace(span, attributes=kept)


def _is_open(rows: Sequence[Row], request: DrawRequest) -> bool:
    """Whether something in the trace has not ended, or ended only now: more of it may still come."""
    settled, never = written(request.settled), written(request.settled - NEVER)
    return any(waits(row, settled, never) for row in rows if row.get("type") != EVENT)


def floor(time: datetime) -> datetime:
    """To the millisecond, as Langfuse tells times."""
    return time.replace(microsecond=time.microsecond // 1000 * 1000)
