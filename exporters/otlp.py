"""Spans over OTLP to a collector that may refuse large requests: what is too large is cut, never dropped."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import requests
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

TOO_LARGE = 413
LARGEST = 32_000_000  # bytes of one request to begin with
SMALLEST = 4_000  # what is refused at this size is refused for another reason
SHARE = 2  # no span may take more than half a request
OVERHEAD = 1_000  # bytes of a span beside its texts, about
MESSAGES = (".messages", "system_instructions")  # what is so named is worth nothing when it is cut


class OtlpSpanExporter(SpanExporter):
    """OpenTelemetry's OTLP exporter, set up by ``OTEL_EXPORTER_OTLP_*``, that learns how much it may send.

    When a request is refused as too large (413), the next one is half as large: long texts are cut, with a
    mark that says so and how long they were, and what is still too much goes in several requests.
    """

    def __init__(self, *, only_private: bool = False, **options: Any) -> None:
        self.only_private = only_private  # see tracehooks.forwarding
        self.largest = LARGEST
        self._status: int | None = None
        session = requests.Session()
        session.hooks["response"].append(self._note)
        self._exporter = OTLPSpanExporter(session=session, **options)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send ``spans``. FAILURE when some did not arrive."""
        waiting = list(spans)
        while waiting:
            fitting = [shrunk(span, self.largest // SHARE) for span in waiting]
            count = _first_pack(fitting, self.largest)
            self._status = None
            if self._exporter.export(fitting[:count]) is SpanExportResult.SUCCESS:
                waiting = waiting[count:]
                continue
            size = sum(map(size_of, fitting[:count]))
            if self._status != TOO_LARGE or size <= SMALLEST:
                return SpanExportResult.FAILURE
            self.largest = max(SMALLEST, min(size, self.largest) // 2)
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Release the connection."""
        self._exporter.shutdown()  # type: ignore[no-untyped-call]

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Nothing waits here."""
        return True

    def _note(self, response: requests.Response, *_: Any, **__: Any) -> None:
        self._status = response.status_code


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


def _first_pack(spans: Sequence[ReadableSpan], most: int) -> int:
    """How many of ``spans`` a request may hold, one at least."""
    size = 0
    for count, span in enumerate(spans):
        size += size_of(span)
        if size > most and count:
            return count
    return len(spans)


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
