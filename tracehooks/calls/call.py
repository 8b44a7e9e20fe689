"""From finished spans to AgentCalls: THE one function, whoever made the spans.

What is a call
    The outermost agent span of a trace: an agent span with no agent span above it, among the spans that are
    known, whatever lies between. Two siblings are two calls. A parent in another process is unknown and
    covers nothing. Our own internal spans, and what lies below them (a judge's requests), are never calls.

What is an agent span
    What its dialect declares as one: our ``kind="agent"``, the operations ``invoke_agent`` and
    ``invoke_workflow``, OpenInference's ``AGENT``, OpenLLMetry's ``workflow`` and ``agent``, and so on, one
    file a dialect. Also the chain through which an agent framework is entered, LangGraph's above all, because
    the run of an agent is recorded as a chain there.

What else may be a call
    Where a trace has no agent span at all, the outermost function that was traced without saying what it is
    (Langfuse's plain ``@observe``, a manual chain, MLflow's plain ``@trace``): it is the application's own
    entry, and what it returned is what its caller got. A request to a model outside of all that is no call:
    nobody can say whose words it was. Nor is a lone tool or retriever.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from tracehooks.calls.context import (
    environment_of,
    error_of,
    metadata_of,
    name_of,
    service_of,
    session_of,
    tags_of,
    user_of,
    version_of,
)
from tracehooks.calls.dialect import AGENTS
from tracehooks.calls.dialects import kind_of
from tracehooks.calls.said import first_question, last_words
from tracehooks.calls.span import SpanRecord, scope_of
from tracehooks.calls.tree import TraceTree
from tracehooks.records import EPOCH, AgentCall


def is_agent_span(span: Any) -> bool:
    """Whether ``span``, a SpanRecord or an OpenTelemetry span, ended or not, says that it is an agent's.

    Looks at attributes only, not at the trace: whether it is the outermost one is for :func:`agent_calls`.
    """
    return kind_of(span.name, scope_of(span), span.attributes or {}) in AGENTS


def agent_calls(spans: Iterable[SpanRecord]) -> list[AgentCall]:
    """The calls in ``spans``, of one trace or of many, in any order, as far as the spans are known.

    Ordered by (start, trace id, span id). The same spans always give the same calls.
    """
    traces: dict[str, list[SpanRecord]] = {}
    for span in spans:
        traces.setdefault(span.trace_id, []).append(span)
    calls: list[AgentCall] = []
    for trace in traces.values():
        tree = TraceTree(trace)
        calls.extend(_call(span, tree) for span in tree.outermost())
    return sorted(calls, key=lambda call: (call.start, call.trace_id, call.span_id))


def agent_call(span: SpanRecord, others: Iterable[SpanRecord] = ()) -> AgentCall:
    """The call at ``span``, which the caller knows to be one; ``others`` are spans of its trace, if known."""
    mine = [other for other in others if other.trace_id == span.trace_id and other.span_id != span.span_id]
    return _call(span, TraceTree([span, *mine]))


def _call(span: SpanRecord, tree: TraceTree) -> AgentCall:
    lineage = (span, *tree.ancestors(span))
    asked, said = first_question(span, tree), last_words(span, tree)
    return AgentCall(
        trace_id=span.trace_id,
        span_id=span.span_id,
        name=name_of(span),
        input=asked.text,
        output=said.text,
        start=_time(span.start_ns),
        end=_time(span.end_ns),
        environment=environment_of(lineage, span.resource),
        session_id=session_of(lineage),
        user_id=user_of(lineage),
        tags=tags_of(lineage),
        metadata=metadata_of(lineage),
        service=service_of(span),
        version=version_of(span),
        error=error_of(span),
        truncated=said.cut,
        text_source=said.source,
    )


def _time(ns: int) -> datetime:
    return EPOCH + timedelta(microseconds=ns // 1000)
