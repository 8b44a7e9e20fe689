"""Spans that are too large for an OTLP request, with their long texts cut and marked."""

from collections.abc import Mapping
from typing import Any

import orjson
from opentelemetry.sdk.trace import Event, ReadableSpan

OVERHEAD = 1_000  # bytes of a span beside its texts, about
NUMBER = 9  # bytes of one
LEAST = 50  # bytes: to cut shorter would leave nothing to read
MESSAGES = (".messages", "system_instructions")  # what is so named is worth nothing when it is cut


def size_of(span: ReadableSpan) -> int:
    """About how many bytes ``span`` takes in a request."""
    texts = _length(span.attributes or {}) + sum(_length(event.attributes or {}) for event in span.events)
    return OVERHEAD + texts


def shrunk(span: ReadableSpan, most: int) -> ReadableSpan:
    """``span`` itself, or with its long values cut so that it takes about ``most`` bytes, if that can be."""
    if size_of(span) <= most:
        return span
    room = max(LEAST, (most - OVERHEAD) // 4)  # an input, an output, an error's message and its stack
    small = _with_room(span, room)
    while size_of(small) > most and room > LEAST:  # there are more than those
        room = max(LEAST, room // 2)
        small = _with_room(span, room)
    return small


def _with_room(span: ReadableSpan, room: int) -> ReadableSpan:
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
    return sum(map(_bytes, attributes.values()))


def _bytes(value: Any) -> int:
    if isinstance(value, str):
        return len(value.encode("utf-8", "replace"))
    if isinstance(value, bytes):
        return len(value)
    return sum(map(_bytes, value)) if isinstance(value, list | tuple) else NUMBER


def _cut(attributes: Mapping[str, Any], room: int) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name, value in attributes.items():
        if _bytes(value) <= room:
            kept[name] = value
        elif isinstance(value, list | tuple):
            kept[name] = _first(value, room)
        elif isinstance(value, str) and not name.endswith(MESSAGES):
            kept[name] = _mark(value, room)
    return kept


def _first(values: list[Any] | tuple[Any, ...], room: int) -> tuple[Any, ...]:
    """As many of ``values`` as there is room for."""
    size = 0
    for count, value in enumerate(values):
        size += _bytes(value)
        if size > room:
            return tuple(values[:count])
    return tuple(values)


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
