"""Spans to Langfuse: OTLP over HTTP, in Langfuse's words, with nothing of any other backend's settings.

OpenTelemetry's exporter would add the headers of ``OTEL_EXPORTER_OTLP_HEADERS``, another backend's key, and
the SDK's processor leaves out what it does not know; so the spans are encoded here and sent by our client.
"""

import gzip
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from tracehooks.errors import TracehooksError
from tracehooks.exporters.langfuse.attributes import in_langfuse_words
from tracehooks.exporters.langfuse.client import TOO_LARGE, Client, Reply, Unreachable
from tracehooks.exporters.langfuse.usage import UsageOnce
from tracehooks.settings import Settings
from tracehooks.tracing.trouble import trouble

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

    from tracehooks.calls import SpanRecord

PATH = "/otel/v1/traces"
DENIED = frozenset({401, 403})
ABOUT_THE_SPAN = frozenset({400, TOO_LARGE, 422})
HEADERS = {
    "content-type": "application/x-protobuf",
    "content-encoding": "gzip",
    "x-langfuse-ingestion-version": "4",  # without it they are not to be seen for minutes
}
LARGEST = 16_000_000  # bytes of one request, uncompressed, to begin with
SMALLEST = 4_000  # what is refused at this size is refused for another reason
SHARE = 2  # no span may take more than half a request
COMPRESSION = 1  # fast; texts shrink to about a third all the same
PATIENCE = 300.0  # seconds that a batch waits for a server that is down; those behind it wait in the queue
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 20.0
RELEASE = "release"  # in what is carried of a process to whoever sends its spans later

Place = tuple[str, str]  # trace id, span id


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

    Langfuse keeps a span by its ids, so one may be sent again (``takes_again``): ``on_taken`` hears which it
    took, and :meth:`resend` sends from the store what it did not, with what ``carried`` said of the process.
    """

    takes_again = True

    def __init__(self, client: Client, release: str | None = None) -> None:
        # it loads the store's tables, and without keys every init() reads this module for nothing
        from tracehooks.exporters.langfuse.experiments import Experiments

        self._client, self._release = client, release or os.environ.get("LANGFUSE_RELEASE")
        self._usage = UsageOnce()
        self._experiments = Experiments(client)
        self._shut = threading.Event()
        self.largest = LARGEST
        self.lost = 0
        self.carried: Mapping[str, Any] = {RELEASE: self._release} if self._release else {}
        self.on_taken: Callable[[list[Place]], object] = lambda places: None

    def export(self, spans: Sequence["ReadableSpan"]) -> Any:
        """Send ``spans``. Raises when the server stays down, or refuses them for another reason than size."""
        from opentelemetry.sdk.trace.export import SpanExportResult

        waiting = [self._worded(span, _said(span, self._usage, self._release)) for span in spans]
        while waiting:
            waiting = waiting[self._send(waiting) :]
        return SpanExportResult.SUCCESS

    def resend(
        self,
        waiting: Sequence[tuple["SpanRecord", Mapping[str, Any]]],
        others: Sequence["SpanRecord"] = (),
    ) -> dict[Place, str]:
        """Send stored spans, each with what its process carried. Returns those refused, with the reasons.

        ``others`` are all other spans of their traces. Raises Unreachable or RefusedSpans when the server
        takes none now; what it took until then ``on_taken`` has heard.
        """
        left = self._from_store(waiting, others)
        refused: dict[Place, str] = {}
        most = len(left)
        while left:
            count, size, reply = self._request(left[:most], self._client_send)
            if reply.ok:
                self._arrived(left[:count])
                most *= 2
            elif reply.status == TOO_LARGE and size > SMALLEST:
                self._ask_for_less(size)
                continue
            elif reply.status not in ABOUT_THE_SPAN:
                raise RefusedSpans(reply.words)
            elif count > 1:
                most = count // 2  # which of them is it?
                continue
            else:
                refused[_place(left[0])] = reply.words
            left = left[count:]
        return refused

    def shutdown(self) -> None:
        """Wait for the server no longer, and close the connections."""
        self._shut.set()
        self._client.close()

    def _send(self, waiting: list["ReadableSpan"]) -> int:
        """Send the first of ``waiting``; returns how many are done with."""
        count, size, reply = self._request(waiting, self._post)
        if reply.ok:
            self._arrived(waiting[:count])
            return count
        if reply.status in DENIED:  # no span would fare better alone, or later
            trouble("sending spans to langfuse", reply.words)
            self.lost += count
            return count
        if reply.status != TOO_LARGE:
            raise RefusedSpans(reply.words)
        if size > SMALLEST:
            self._ask_for_less(size)
            return 0
        self.lost += count
        return count

    def _request(
        self, waiting: list["ReadableSpan"], post: Callable[[bytes], Reply]
    ) -> tuple[int, int, Reply]:
        """Send as many of ``waiting`` as fit: how many those are, their size in bytes, and the answer."""
        from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

        from tracehooks.exporters.otlp_cutting import shrunk, size_of

        fitting: list[ReadableSpan] = []
        total = 0
        for span in waiting:
            one = shrunk(span, self.largest // SHARE)
            size = size_of(one)
            if fitting and total + size > self.largest:
                break
            fitting.append(one)
            total += size
        body = gzip.compress(encode_spans(fitting).SerializePartialToString(), COMPRESSION)
        return len(fitting), total, post(body)

    def _ask_for_less(self, size: int) -> None:
        self.largest = max(SMALLEST, min(size, self.largest) // 2)

    def _arrived(self, spans: list["ReadableSpan"]) -> None:
        self._experiments.sent(spans)
        self.on_taken([_place(span) for span in spans])

    def _client_send(self, body: bytes) -> Reply:
        return self._client.send("POST", PATH, content=body, headers=HEADERS)

    def _post(self, body: bytes) -> Reply:
        """The server's answer, once it gives one that counts. Raises Unreachable when it stays down."""
        end, pause = monotonic() + PATIENCE, FIRST_PAUSE
        while True:
            over = monotonic() + pause > end or self._shut.is_set()
            try:
                reply = self._client_send(body)
                if over or not reply.passes:
                    return reply
            except Unreachable:
                if over:
                    raise
            self._shut.wait(max(pause, min(self._client.pace.remaining(), LONGEST_PAUSE)))
            pause = min(2 * pause, LONGEST_PAUSE)

    def _from_store(
        self, waiting: Sequence[tuple["SpanRecord", Mapping[str, Any]]], others: Sequence["SpanRecord"]
    ) -> list["ReadableSpan"]:
        """Those that wait, in the order they ended; all their traces tell what they say of tokens."""
        from tracehooks.exporters.stored_spans import CARRIED, readable

        usage = UsageOnce()
        rests: list[tuple[SpanRecord, Mapping[str, Any] | None]] = [
            *waiting,
            *((one, None) for one in others),
        ]
        found = []
        for record, rest in sorted(rests, key=lambda one: (one[0].end_ns, -one[0].start_ns)):
            span = readable(record, rest or {})
            release = (rest or {}).get(CARRIED, {}).get(RELEASE)
            said = _said(span, usage, release)
            if rest is not None:
                found.append(self._worded(span, said))
        return found

    def _worded(self, span: "ReadableSpan", said: Mapping[str, Any]) -> "ReadableSpan":
        from opentelemetry.sdk.trace import ReadableSpan

        return ReadableSpan(
            name=span.name,
            context=span.context,
            parent=span.parent,
            resource=span.resource,
            attributes={**said, **self._experiments.attributes(span)},
            events=span.events,
            links=span.links,
            kind=span.kind,
            status=span.status,
            start_time=span.start_time,
            end_time=span.end_time,
            instrumentation_scope=span.instrumentation_scope,
        )


class RefusedSpans(TracehooksError):  # noqa: N818 - it says what they are
    """The server did not take a batch; the message is the server's, which quotes no text of a span."""


def _said(span: "ReadableSpan", usage: UsageOnce, release: str | None) -> dict[str, Any]:
    """Its attributes in Langfuse's words, without the tokens that spans below it have told."""
    return usage.only(span, in_langfuse_words(span, release))


def _place(span: "ReadableSpan") -> Place:
    context = span.context
    assert context is not None  # an ended span has one
    return format(context.trace_id, "032x"), format(context.span_id, "016x")
