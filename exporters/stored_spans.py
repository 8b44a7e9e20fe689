"""A stored span as the OpenTelemetry span that it was; what the store has no place for is kept beside it."""

from collections.abc import Mapping
from typing import Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from tracehooks.calls import SpanRecord
from tracehooks.calls.named_text import ATTRIBUTE, SOURCE

KIND, VERSION, SCOPE, LINKS = "kind", "scope_version", "scope_attributes", "links"
CARRIED = "carried"  # what the exporter for a backend knows of its process
OUR_NOTES = frozenset({ATTRIBUTE, SOURCE})  # what the store added


def rest_of(span: ReadableSpan) -> dict[str, Any]:
    """What the stored form of ``span`` lacks, as JSON can hold it; empty for most spans."""
    scope = span.instrumentation_scope
    found = {
        KIND: span.kind.name if span.kind is not SpanKind.INTERNAL else None,
        VERSION: scope.version if scope is not None else None,
        SCOPE: dict(scope.attributes) if scope is not None and scope.attributes else None,
        LINKS: [_link(link) for link in span.links],
    }
    return {name: value for name, value in found.items() if value}


def readable(span: SpanRecord, rest: Mapping[str, Any]) -> ReadableSpan:
    """The span of which the store has ``span``, and :func:`rest_of` told ``rest``."""
    return ReadableSpan(
        name=span.name,
        context=_context(span.trace_id, span.span_id),
        parent=_context(span.trace_id, span.parent_span_id) if span.parent_span_id else None,
        resource=Resource(_attributes(span.resource)),
        attributes=_attributes(span.attributes),
        events=[Event(event.name, _attributes(event.attributes), event.time_ns) for event in span.events],
        links=[
            Link(_context(trace_id, span_id), _attributes(own))
            for trace_id, span_id, own in rest.get(LINKS, ())
        ],
        kind=SpanKind[rest.get(KIND, SpanKind.INTERNAL.name)],
        instrumentation_scope=InstrumentationScope(
            span.scope, rest.get(VERSION), attributes=_attributes(rest.get(SCOPE, {}))
        ),
        status=_status(span),
        start_time=span.start_ns,
        end_time=span.end_ns,
    )


def _link(link: Link) -> tuple[str, str, dict[str, Any]]:
    context = link.context
    return format(context.trace_id, "032x"), format(context.span_id, "016x"), dict(link.attributes or {})


def _context(trace_id: str, span_id: str) -> SpanContext:
    return SpanContext(
        int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED)
    )


def _attributes(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Without what JSON made a null of (no number, an infinity), which no attribute may be."""
    return {name: value for name, value in stored.items() if value is not None and name not in OUR_NOTES}


def _status(span: SpanRecord) -> Status:
    code = StatusCode[span.status.upper()]
    return Status(code, span.status_message or None if code is StatusCode.ERROR else None)
