"""Spans that are too large for an OTLP request, with their long texts cut and marked."""

from collections.abc import Mapping
from typing import Any

import orjson
from opentelemetry.sdk.trace import Event, ReadableSpan

OVERHEAD = 1_000  # bytes of a span beside its texts, about
MESSAGES = (".messages", "system_instructions")  # what is so named is worth nothing when it is cut


def size_of(span: ReadableSpan) -> int:
    """About how many bytes ``span`` takes in a request."""
    texts = _length(span.attributes or {}) + sum(_length(event.attributes or {}) for event in span.events)
    return OVERHEAD + texts


def shrunk(span: ReadableSpan, most: int) -> ReadableSpan:
    """``span`` itself, or with its long texts cut so that it takes about ``most`` bytes."""
    if size_of(span) <= most:
        return span
    room = max(100, (most - OVERHEAD) // 4)  # an input, an output, an error's message and its stack
    return ReadableSpan(
        name=span.name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes=_cut(span.attributes or {}, room),
        events=[
            Event(event.name, _cut(event.attributes or {}, room), event.timestamp) for event in span.events
        ],
        links=span.links,
        kind=span.kind,
        status=span.status,
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _length(attributes: Mapping[str, Any]) -> int:
    return sum(_bytes(value) for value in attributes.values() if isinstance(value, str))


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _cut(attributes: Mapping[str, Any], room: int) -> dict[str, Any]:
    kept = {}
    for name, value in attributes.items():
        if not isinstance(value, str) or _bytes(value) <= room:
            kept[name] = value
        elif not name.endswith(MESSAGES):
            kept[name] = _mark(value, room)
    return kept


def _mark(value: str, room: int) -> str:
    """Of a text its beginning, as JSON that says that it was cut and how many bytes it had."""
    length, preview = _bytes(value), value
    try:
        known = orjson.loads(value)
    except ValueError:
        known = None
    if isinstance(known, dict) and known.get("truncated") is True:  # it was cut before
        length, preview = known.get("length", length), str(known.get("preview", ""))
    elif isinstance(known, str):
        preview = known
    start = preview[: room // 2].encode("utf-8", "replace").decode()
    return orjson.dumps({"truncated": True, "length": length, "preview": start}).decode()
