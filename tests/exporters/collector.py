"""An OTLP endpoint for tests."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Collector:
    """An OTLP endpoint on loopback.

    ``status`` is what it answers, 413 to a body of more than ``largest`` bytes; ``requests`` are the sizes of
    all bodies, as they came.
    """

    def __init__(self) -> None:
        self.status = 200
        self.largest: int | None = None
        self.requests: list[int] = []
        self.spans: list[Any] = []
        self.logs: list[Any] = []
        self.metrics: set[str] = set()

    def take(self, path: str, body: bytes) -> None:
        if path.endswith("/v1/traces"):
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in resource.scope_spans:
                    self.spans.extend(scope.spans)
        elif path.endswith("/v1/logs"):
            request = ExportLogsServiceRequest.FromString(body)
            for resource in request.resource_logs:
                for scope in resource.scope_logs:
                    self.logs.extend(scope.log_records)
        else:
            for metric in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                self.metrics.update(one.name for scope in metric.scope_metrics for one in scope.metrics)


@contextmanager
def collecting() -> Iterator[tuple[Collector, str]]:
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.requests.append(len(body))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            too_large = collector.largest is not None and len(body) > collector.largest
            status = 413 if too_large else collector.status
            if status == 200:
                collector.take(self.path, body)
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

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
