"""A chat-completions server on loopback that streams what it is told to, as OpenAI's does."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def chunk(content: str | None = None, **more: Any) -> dict[str, Any]:
    """One chunk of a streamed chat completion; ``choices=[]`` and ``usage`` may be given."""
    finish = more.pop("finish", None)
    choice = {"index": 0, "delta": {"content": content}, "finish_reason": finish}
    plain = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return {**plain, **more}


USAGE = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
# langfuse and others crashed on the last one: no choices, only the usage
CHUNKS = [
    chunk("a"),
    chunk(None),
    chunk("b"),
    chunk(None, finish="stop"),
    chunk(choices=[], usage=USAGE),
]


@contextmanager
def streaming(events: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The base url of a server that answers every request with these events."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for event in events:
                self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
            self.wfile.write(b"data: [DONE]\n\n")

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
