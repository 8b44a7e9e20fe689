"""An HTTP endpoint for probes: is the process alive, and how do things stand?"""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tracehooks.errors import ConfigurationError

OK, UNAVAILABLE, NOT_FOUND = 200, 503, 404


class Health:
    """Answers ``GET /live``, 200 while ``alive()`` is true, and ``GET /status``, 200 while all is well.

    Otherwise 503. ``status()`` gives the exit code of ``tracehooks status`` and its document. Probes that
    restart a process ask ``/live``: a night that failed is no reason to restart. ``address`` is host:port;
    no host means all. Raises ConfigurationError for one that cannot be had.
    """

    def __init__(
        self,
        address: str,
        alive: Callable[[], bool],
        status: Callable[[], tuple[int, str]],
    ) -> None:
        host, _, port = address.rpartition(":")
        handler = type("Handler", (_Handler,), {"alive": staticmethod(alive), "status": staticmethod(status)})
        try:
            self._server = ThreadingHTTPServer((host, int(port)), handler)
        except (OSError, OverflowError) as error:
            raise ConfigurationError(f"scheduler.health: cannot listen on {address}: {error}") from None
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="tracehooks-health", daemon=True
        )

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._server.server_address[1])

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    alive: Callable[[], bool]
    status: Callable[[], tuple[int, str]]

    def do_GET(self) -> None:
        """Answer one probe."""
        path = self.path.partition("?")[0].rstrip("/")
        if path in ("/live", "/healthz"):
            alive = type(self).alive()
            self._answer(OK if alive else UNAVAILABLE, json.dumps({"alive": alive}))
        elif path == "/status":
            self._answer_status()
        else:
            self._answer(NOT_FOUND, json.dumps({"error": "known are /live and /status"}))

    def _answer_status(self) -> None:
        try:
            code, document = type(self).status()
        except Exception as error:  # such as a store that is locked: that is no good status either
            code, document = 2, json.dumps({"error": f"{type(error).__name__}: {error}"})
        self._answer(UNAVAILABLE if code else OK, document)

    def _answer(self, code: int, document: str) -> None:
        body = document.encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: probes come every few seconds."""
