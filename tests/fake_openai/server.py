"""The server: asyncio in a thread of its own, so that hundreds of requests can hang at once."""

import asyncio
import email.utils
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from tests.fake_openai.batches import Batches
from tests.fake_openai.replies import HANG, Reply, Wire, as_wire, status

Script = Callable[[dict[str, Any]], Reply]


@dataclass(frozen=True)
class Request:
    """One request as it came in."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    time: float


@dataclass
class FakeOpenAI:
    """Answers ``POST /v1/chat/completions`` by ``script``: replies in order, or a function of the body.

    A list that is used up answers 418, which no test expects. ``refuses`` names response formats
    (``json_schema``, ``json_object``) that it answers with 400. Counts requests and those in flight.
    ``keep=False`` forgets the requests, for long runs. With ``batches`` it has a Batch API, which is counted
    there.
    """

    script: Iterable[Reply] | Script
    refuses: tuple[str, ...] = ()
    keep: bool = True
    port: int = 0
    batches: Batches | None = None
    requests: list[Request] = field(default_factory=list)
    count: int = 0
    in_flight: int = 0
    peak: int = 0

    def __post_init__(self) -> None:
        self._replies: Iterator[Reply] | None = None if callable(self.script) else iter(self.script)
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="fake-openai", daemon=True)
        self._stop = asyncio.Event()

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> "FakeOpenAI":
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def stats(self) -> dict[str, int]:
        """The counters, as ``GET /stats`` gives them."""
        return {"requests": self.count, "in_flight": self.in_flight, "peak": self.peak}

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._connection, "127.0.0.1", self.port, limit=2**24)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client left, or the server stops
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; False when the connection is over."""
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").strip().split("\r\n")
        method, path, _ = first.split(" ")
        pairs = (line.partition(":") for line in lines)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        content = await reader.readexactly(int(headers.get("content-length", "0")))
        if path.startswith(("/v1/files", "/v1/batches")):
            reply: Reply = status(404, "not_found")
            if self.batches is not None:
                reply = self.batches.answer(method, path, headers, content)
            return await self._say(reader, writer, reply)
        if method == "GET":
            return await self._write(writer, self._get(path))
        self.count += 1
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        try:
            return await self._answer(
                reader, writer, Request(path, headers, json.loads(content), time.time())
            )
        finally:
            self.in_flight -= 1

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: Request
    ) -> bool:
        if self.keep:
            self.requests.append(request)
        return await self._say(reader, writer, self._reply(request))

    async def _say(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, reply: Reply) -> bool:
        wire = as_wire(reply)
        if isinstance(wire, Wire):
            return await self._write(writer, wire)
        if wire is HANG:
            await reader.read(1)  # until the client gives up
        writer.transport.abort()
        return False

    def _reply(self, request: Request) -> Reply:
        if request.path != "/v1/chat/completions":
            return status(404, "not_found")
        asked = request.body.get("response_format", {}).get("type")
        if asked in self.refuses:
            return status(400, message=f"response_format of type '{asked}' is not supported")
        if self._replies is None:
            assert callable(self.script)
            return self.script(request.body)
        return next(self._replies, status(418, message="the script is used up"))

    def _get(self, path: str) -> Wire:
        if path == "/stats":
            return Wire(body=json.dumps(self.stats()).encode())
        if path == "/v1/models":
            return Wire(body=b'{"object": "list", "data": [{"id": "judge-2026", "object": "model"}]}')
        return status(404, "not_found")

    async def _write(self, writer: asyncio.StreamWriter, wire: Wire) -> bool:
        if wire.delay:
            await asyncio.sleep(wire.delay)
        lines = [
            f"HTTP/1.1 {wire.status} Said",
            f"content-type: {wire.content_type}",
            f"content-length: {len(wire.body)}",
            f"date: {email.utils.formatdate(usegmt=True)}",
            *(f"{name}: {value}" for name, value in wire.headers),
        ]
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        if wire.drip:
            for byte in wire.body:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(wire.drip)
        else:
            writer.write(wire.body)
        await writer.drain()
        return True
