"""Spans to Langfuse: OTLP over HTTP, in Langfuse's words, with nothing of any other backend's settings.

OpenTelemetry's exporter would add the headers of ``OTEL_EXPORTER_OTLP_HEADERS``, another backend's key, and
the SDK's processor leaves out what it does not know; so the spans are encoded here and sent by our client.
"""

import gzip
import threading
from collections import OrderedDict
from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from tracehooks.exporters.langfuse.client import TOO_LARGE, Client, Reply, Unreachable
from tracehooks.settings import Settings
from tracehooks.tracing.trouble import trouble

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

PATH = "/otel/v1/traces"
DENIED = frozenset({401, 403})
HEADERS = {
    "content-type": "application/x-protobuf",
    "content-encoding": "gzip",
    "x-langfuse-ingestion-version": "4",  # without it they are not to be seen for minutes
}
LARGEST = 16_000_000  # bytes of one request, uncompressed, to begin with
SMALLEST = 4_000  # what is refused at this size is refused for another reason
SHARE = 2  # no span may take more than half a request
COMPRESSION = 1  # fast; texts shrink to about a third all the same
SPANS_REMEMBERED = 20_000
PATIENCE = 300.0  # seconds that a batch waits for a server that is down; those behind it wait in the queue
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 20.0


def span_exporters(settings: Settings) -> dict[str, Any]:
    """Langfuse's exporter when the settings have its keys and want its spans; nothing otherwise."""
    if not (settings.langfuse.has_keys and settings.langfuse.spans):
        return {}
    return {"langfuse": LangfuseSpanExporter(Client.from_settings(settings), settings.langfuse.release)}


class LangfuseSpanExporter:
    """Sends finished spans to one project. ``lost`` counts those that the server will never take.

    When a request is refused as too large (413), the next one is half as large: long texts are cut, with a
    mark that says so and how long they were, and what is still too much goes in several requests. A span
    that is refused alone, cut to its bones, is lost and counted, and takes no other along.
    """

    def __init__(self, client: Client, release: str | None = None) -> None:
        # it loads the store's tables, and without keys every init() reads this module for nothing
        from tracehooks.exporters.langfuse.experiments import Experiments

        self._client, self._release = client, release
        self._usage = UsageOnce()
        self._experiments = Experiments(client)
        self._shut = threading.Event()
        self.largest = LARGEST
        self.lost = 0

    def export(self, spans: Sequence["ReadableSpan"]) -> Any:
        """Send ``spans``. Raises when the server stays down, or refuses them for another reason than size."""
        from opentelemetry.sdk.trace.export import SpanExportResult

        waiting = [self._worded(span) for span in spans]
        while waiting:
            waiting = waiting[self._send(waiting) :]
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Wait for the server no longer, and close the connections."""
        self._shut.set()
        self._client.close()

    def _send(self, waiting: list["ReadableSpan"]) -> int:
        """Send the first of ``waiting``; returns how many are done with."""
        from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

        from tracehooks.exporters.otlp_cutting import shrunk, size_of

        most = self.largest // SHARE
        fitting = [shrunk(span, most) for span in waiting]
        sizes = [size_of(span) for span in fitting]
        count = _first_pack(sizes, self.largest)
        body = gzip.compress(encode_spans(fitting[:count]).SerializePartialToString(), COMPRESSION)
        reply = self._post(body)
        if reply.ok:
            self._experiments.sent(waiting[:count])
            return count
        if reply.status in DENIED:  # no span would fare better alone, or later
            trouble("sending spans to langfuse", reply.words)
            self.lost += count
            return count
        if reply.status != TOO_LARGE:
            raise RefusedSpans(reply.words)
        size = sum(sizes[:count])
        if size > SMALLEST:
            self.largest = max(SMALLEST, min(size, self.largest) // 2)
            return 0
        self.lost += count
        return count

    def _post(self, body: bytes) -> Reply:
        """The server's answer, once it gives one that counts. Raises Unreachable when it stays down."""
        end, pause = monotonic() + PATIENCE, FIRST_PAUSE
        while True:
            over = monotonic() + pause > end or self._shut.is_set()
            try:
                reply = self._client.send("POST", PATH, content=body, headers=HEADERS)
                if over or not reply.passes:
                    return reply
            except Unreachable:
                if over:
                    raise
            self._shut.wait(max(pause, min(self._client.pace.remaining(), LONGEST_PAUSE)))
            pause = min(2 * pause, LONGEST_PAUSE)

    def _worded(self, span: "ReadableSpan") -> "ReadableSpan":
        from opentelemetry.sdk.trace import ReadableSpan

        from tracehooks.exporters.langfuse.attributes import in_langfuse_words

        attributes = self._usage.only(span, in_langfuse_words(span, self._release))
        attributes |= self._experiments.attributes(span)
        return ReadableSpan(
            name=span.name,
            context=span.context,
            parent=span.parent,
            resource=span.resource,
            attributes=attributes,
            events=span.events,
            links=span.links,
            kind=span.kind,
            status=span.status,
            start_time=span.start_time,
            end_time=span.end_time,
            instrumentation_scope=span.instrumentation_scope,
        )


class RefusedSpans(RuntimeError):  # noqa: N818 - it says what they are
    """The server did not take a batch; the message is the server's."""


class UsageOnce:
    """Lets tokens be told once a trace branch: an agent that repeats its model's usage would double the cost.

    Spans end from the inside out, so what was told below a span is known when that span comes.
    """

    def __init__(self) -> None:
        self._told_below: OrderedDict[tuple[int, int], None] = OrderedDict()

    def only(self, span: Any, attributes: dict[str, Any]) -> dict[str, Any]:
        """``attributes``, without usage when spans below ``span`` have told theirs."""
        from tracehooks.exporters.langfuse.attributes import tells_usage, without_usage

        trace_id, span_id = span.context.trace_id, span.context.span_id
        below = (trace_id, span_id) in self._told_below
        tells = tells_usage(attributes)
        if (below or tells) and span.parent is not None:
            # not taken out when used: a batch that failed comes again
            self._told_below[trace_id, span.parent.span_id] = None
            while len(self._told_below) > SPANS_REMEMBERED:
                self._told_below.popitem(last=False)
        return without_usage(attributes) if below and tells else attributes


def _first_pack(sizes: Sequence[int], most: int) -> int:
    """How many spans of these sizes a request may hold, one at least."""
    total = 0
    for count, size in enumerate(sizes):
        total += size
        if total > most and count:
            return count
    return len(sizes)
