"""An OTLP endpoint for tests."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


class Collector:
    """An OTLP endpoint on loopback.

    ``status`` is what it answers, after the ``statuses`` that come first; 413 to a body of more than
    ``largest`` bytes. ``rejects`` is how many spans of each request it says to have rejected. ``requests``
    are the sizes of all bodies, as they came, ``headers`` those of the last request, ``services`` the
    services that anything came from.
    """

    def __init__(self) -> None:
        self.status = 200
        self.largest: int | None = None
        self.statuses: list[int] = []
        self.rejects = 0
        self.requests: list[int] = []
        self.headers: dict[str, str] = {}
        self.services: set[str] = set()
        self.spans: list[Any] = []
        self.logs: list[Any] = []
        self.metrics: set[str] = set()

    def take(self, path: str, body: bytes) -> None:
        if path.endswith("/v1/traces"):
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                self._note(resource)
                for scope in resource.scope_spans:
                    self.spans.extend(scope.spans)
        elif path.endswith("/v1/logs"):
            request = ExportLogsServiceRequest.FromString(body)
            for resource in request.resource_logs:
                self._note(resource)
                for scope in resource.scope_logs:
                    self.logs.extend(scope.log_records)
        else:
            for metric in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                self._note(metric)
                self.metrics.update(one.name for scope in metric.scope_metrics for one in scope.metrics)

    def answer(self, path: str) -> bytes:
        answer = ExportTraceServiceResponse()
        if path.endswith("/v1/traces"):
            answer.partial_success.rejected_spans = self.rejects
        return bytes(answer.SerializeToString())

    def _note(self, one: Any) -> None:
        named = [item.value.string_value for item in one.resource.attributes if item.key == "service.name"]
        self.services.update(named)


@contextmanager
def collecting() -> Iterator[tuple[Collector, str]]:
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.requests.append(len(body))
            collector.headers = {name.lower(): value for name, value in self.headers.items()}
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            too_large = collector.largest is not None and len(body) > collector.largest
            status = collector.statuses.pop(0) if collector.statuses else collector.status
            status = 413 if too_large else status
            answer = b""
            if status == 200:
                collector.take(self.path, body)
                answer = collector.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield collector, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
