"""The agent behind a web server: a WSGI and an ASGI application."""

import os
from collections.abc import Iterable
from typing import Any

import tracehooks
from tests.ends.app import agent

tracehooks.init()


def wsgi(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Answers with its process id."""
    agent("q")
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(os.getpid()).encode()]


async def asgi(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """The same; knows no lifespan."""
    if scope["type"] != "http":
        raise RuntimeError("not supported")
    agent("q")
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(os.getpid()).encode()})


async def asgi_that_flushes(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """The same, with a lifespan that flushes at its end."""
    if scope["type"] != "lifespan":
        await asgi(scope, receive, send)
        return
    while (await receive())["type"] == "lifespan.startup":
        await send({"type": "lifespan.startup.complete"})
    tracehooks.flush(5)
    await send({"type": "lifespan.shutdown.complete"})
