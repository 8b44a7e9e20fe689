"""A finished span as plain data: what the store keeps and what calls are made from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

SpanStatus = Literal["unset", "ok", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanEvent:
    """Something that happened during a span. ``time_ns`` is nanoseconds since 1970 in UTC."""

    name: str
    time_ns: int = 0
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanRecord:
    """One finished span, whoever made it.

    ``trace_id`` is 32 lower-case hex digits, ``span_id`` and ``parent_span_id`` 16; the parent is None for
    a root and may be unknown to us (another process). ``scope`` is the name of the instrumentation that
    made the span. Times are nanoseconds since 1970 in UTC. ``resource`` describes the process.
    """

    trace_id: str
    span_id: str
    parent_span_id: str | None = None
    name: str = ""
    scope: str = ""
    start_ns: int = 0
    end_ns: int = 0
    status: SpanStatus = "unset"
    status_message: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[SpanEvent, ...] = ()
    resource: Mapping[str, Any] = field(default_factory=dict)


def span_record(span: Any) -> SpanRecord:
    """The record of ``span``, an OpenTelemetry ``ReadableSpan``.

    Only public attributes are read, so that the SDK need not be imported and its oldest supported release
    works. A span that has not ended yet gets its start as its end.
    """
    context = span.get_span_context()
    start = span.start_time or 0
    return SpanRecord(
        trace_id=format(context.trace_id, "032x"),
        span_id=format(context.span_id, "016x"),
        parent_span_id=format(span.parent.span_id, "016x") if span.parent is not None else None,
        name=span.name,
        scope=scope_of(span),
        start_ns=start,
        end_ns=span.end_time or start,
        status=span.status.status_code.name.lower(),
        status_message=span.status.description,
        attributes=dict(span.attributes or {}),
        events=tuple(
            SpanEvent(name=event.name, time_ns=event.timestamp, attributes=dict(event.attributes or {}))
            for event in span.events
        ),
        resource=dict(span.resource.attributes) if span.resource is not None else {},
    )


def scope_of(span: Any) -> str:
    """The instrumentation scope's name of a SpanRecord or ReadableSpan; empty when there is none."""
    if isinstance(span, SpanRecord):
        return span.scope
    scope = span.instrumentation_scope
    return scope.name if scope is not None else ""
