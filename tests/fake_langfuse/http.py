"""The HTTP side: keep-alive, gzip both ways, one thread a connection."""

import gzip
import socket
import struct
import zlib
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol

from tests.fake_langfuse.faults import Fault, Faults
from tests.fake_langfuse.times import Clock
from tests.fake_langfuse.wire import Answer, Request

_WORTH_ZIPPING = 1400  # bytes


class App(Protocol):
    """What answers the requests."""

    faults: Faults
    clock: Clock

    def respond(self, request: Request, fault: Fault | None) -> Answer | None:
        """The answer; None for none at all."""


class Server(ThreadingHTTPServer):
    """A listening socket and the connections made to it, all of which ``drop`` breaks."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, port: int, app: App) -> None:
        self.app = app
        self._connections: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), Handler)

    def process_request(self, request: socket.socket, client_address: object) -> None:  # type: ignore[override]
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: socket.socket) -> None:  # type: ignore[override]
        self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no news."""

    def drop(self) -> None:
        """Breaks every open connection, answered or not."""
        for connection in list(self._connections):
            reset(connection)


def reset(connection: socket.socket) -> None:
    """Breaks a connection at once, without the usual goodbye."""
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it is gone already


class Handler(BaseHTTPRequestHandler):
    """Reads requests off one connection and writes the answers."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: Server
    poisoned = False  # a 413 was answered here: the next request is reset, though keep-alive was promised

    def do_GET(self) -> None:
        app = self.server.app
        request = self._read()
        if self.poisoned:
            self._break()
            return
        fault = app.faults.take(request) if not request.path.startswith("/_control") else None
        answer = app.respond(request, fault)
        if fault and fault.hang:
            app.faults.released.wait()
            answer = None
        if answer is None:
            self._break()
            return
        self._write(answer, fault.drip if fault else 0.0)
        self.poisoned = answer.status == 413

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 - names of the standard library

    def _read(self) -> Request:
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self._chunks() if "chunked" in headers.get("transfer-encoding", "") else self._sized(headers)
        encoding = headers.get("content-encoding", "")
        if encoding == "gzip":
            body = gzip.decompress(body)
        elif encoding == "deflate":
            body = zlib.decompress(body)
        path, _, query = self.path.partition("?")
        return Request(self.command, path, query, headers, body)

    def _sized(self, headers: dict[str, str]) -> bytes:
        return self.rfile.read(int(headers.get("content-length") or 0))

    def _chunks(self) -> bytes:
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _write(self, answer: Answer, drip: float) -> None:
        content = answer.content()
        zipped = len(content) > _WORTH_ZIPPING and "gzip" in self.headers.get("Accept-Encoding", "")
        if zipped:
            content = gzip.compress(content, compresslevel=1)
        self.send_response_only(answer.status)
        self.send_header("Date", formatdate(self.server.app.clock.told(), usegmt=True))
        if answer.content_type:
            self.send_header("Content-Type", answer.content_type)
        if zipped:
            self.send_header("Content-Encoding", "gzip")
        for name, value in answer.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if drip:
            self._drip(content, drip)
        else:
            self.wfile.write(content)

    def _drip(self, content: bytes, pause: float) -> None:
        """One byte at a time; the rest at once when faults are cleared."""
        for place in range(len(content)):
            self.wfile.write(content[place : place + 1])
            self.wfile.flush()
            if self.server.app.faults.released.wait(pause):
                self.wfile.write(content[place + 1 :])
                return

    def _break(self) -> None:
        self.close_connection = True
        self.wfile.flush()
        reset(self.connection)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""
