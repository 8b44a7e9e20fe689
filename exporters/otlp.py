"""Spans over OTLP to a collector that may refuse large requests: what is too large is cut, never dropped."""

import contextlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

import requests
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from tracehooks.exporters.otlp_cutting import shrunk, size_of
from tracehooks.exporters.otlp_quiet import quiet
from tracehooks.tracing.trouble import trouble

TOO_LARGE = 413
LARGEST = 32_000_000  # bytes of one request to begin with
SMALLEST = 4_000  # what is refused at this size is refused for another reason
SHARE = 2  # no span may take more than half a request
REMEMBERED = 10_000  # spans that arrived while others of their batch did not
PROTOBUF = "application/x-protobuf"
GENERAL_HEADERS = ("accept", "accept-encoding", "connection", "user-agent", "content-")  # or what begins so


class OtlpSpanExporter(SpanExporter):
    """OpenTelemetry's OTLP exporter, set up by ``OTEL_EXPORTER_OTLP_*``, that learns how much it may send.

    When a request is refused as too large (413), the next one is half as large: long texts are cut, with a
    mark that says so and how long they were, and what is still too much goes in several requests. What
    arrived is not sent again with what did not, and ``lost`` counts what the collector took and rejected.

    ``endpoint`` and ``headers``, where they are given, are used instead of those of the environment, whose
    headers may hold a key for somebody else. ``name`` is what failures are told under; ``only_private`` see
    ``tracehooks.forwarding``.
    """

    def __init__(
        self,
        endpoint: str | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        name: str = "otlp",
        only_private: bool = False,
    ) -> None:
        self.only_private = only_private
        self.largest = LARGEST
        self.lost = 0
        self._name = name
        self._endpoint, self._headers = endpoint, headers
        self._status: int | None = None
        self._arrived: dict[tuple[int, int], None] = {}
        self._open()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send ``spans``. FAILURE when some did not arrive."""
        if self._pid != os.getpid():
            self._open()
        waiting = [span for span in spans if _key(span) not in self._arrived]
        with quiet(OTLPSpanExporter):
            waiting = self._send(waiting)
        if waiting:
            self._remember(spans, waiting)
            return SpanExportResult.FAILURE
        for span in spans:
            self._arrived.pop(_key(span), None)
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Release the connection."""
        self._exporter.shutdown()  # type: ignore[no-untyped-call]

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Nothing waits here."""
        return True

    def _open(self) -> None:
        """With a connection of this process: a forked one must not write on its parent's."""
        self._pid = os.getpid()
        session = requests.Session()
        session.hooks["response"].append(self._note)
        if self._headers is not None:
            session.auth = self._set_headers
        self._exporter = OTLPSpanExporter(endpoint=self._endpoint, session=session)

    def _send(self, waiting: list[ReadableSpan]) -> list[ReadableSpan]:
        """Send what can be sent; returns the rest."""
        before = self.largest
        while waiting:
            fitting = [shrunk(span, self.largest // SHARE) for span in waiting]
            count = _first_pack(fitting, self.largest)
            self._status = None
            if self._exporter.export(fitting[:count]) is SpanExportResult.SUCCESS:
                waiting = waiting[count:]
                continue
            size = sum(map(size_of, fitting[:count]))
            if self._status == TOO_LARGE and size <= SMALLEST:
                self.largest = before  # a span that nobody takes is no reason to cut all later ones
            if self._status != TOO_LARGE or size <= SMALLEST:
                answer = "no answer" if self._status is None else f"HTTP {self._status}"
                trouble(f"sending spans to {self._name}", answer)
                return waiting
            self.largest = max(SMALLEST, min(size, self.largest) // 2)
        return []

    def _remember(self, spans: Sequence[ReadableSpan], waiting: Sequence[ReadableSpan]) -> None:
        left = {_key(span) for span in waiting}
        self._arrived.update((_key(span), None) for span in spans if _key(span) not in left)
        while len(self._arrived) > REMEMBERED:
            del self._arrived[next(iter(self._arrived))]

    def _note(self, response: requests.Response, *_: Any, **__: Any) -> None:
        self._status = response.status_code
        if response.ok and response.headers.get("Content-Type", "").startswith(PROTOBUF):
            with contextlib.suppress(Exception):  # it is no such answer
                answer = ExportTraceServiceResponse.FromString(response.content)
                self.lost += answer.partial_success.rejected_spans

    def _set_headers(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        for name in [name for name in request.headers if not name.lower().startswith(GENERAL_HEADERS)]:
            del request.headers[name]
        request.headers.update(self._headers or {})
        return request


def _key(span: ReadableSpan) -> tuple[int, int]:
    context = span.context
    return (context.trace_id, context.span_id) if context is not None else (0, id(span))


def _first_pack(spans: Sequence[ReadableSpan], most: int) -> int:
    """How many of ``spans`` a request may hold, one at least."""
    size = 0
    for count, span in enumerate(spans):
        size += size_of(span)
        if size > most and count:
            return count
    return len(spans)
