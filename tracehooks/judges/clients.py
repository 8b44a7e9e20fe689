"""Clients for requests: each event loop has its own, and each request in flight has one to itself."""

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Generic, Protocol, TypeVar

from tracehooks.judges.limiter import Limiter, Turn


class Closeable(Protocol):
    """A client that can be closed."""

    def close(self) -> Awaitable[None]:
        """Close its connections."""
        ...


Client = TypeVar("Client", bound=Closeable)


class PerLoop(Generic[Client]):
    """The clients of one event loop: as many as requests were ever in flight at once.

    A client for each, because the connection pool of the HTTP client looks through all its connections at
    every request: at 200 in flight that costs more than the request itself.
    """

    def __init__(self, make: Callable[[], Client], limiter: Limiter) -> None:
        self._make = make
        self.limiter = limiter
        self._idle: list[Client] = []
        self._all: list[Client] = []

    @asynccontextmanager
    async def slot(self, tokens: int = 0, *, waited: bool = False) -> AsyncIterator[tuple[Client, Turn]]:
        """A client for one request of about ``tokens``, as soon as the limiter lets it go."""
        async with self.limiter.turn(tokens, waited=waited) as turn:
            client = self._idle.pop() if self._idle else self._another()
            try:
                yield client, turn
            finally:
                self._idle.append(client)

    async def aclose(self) -> None:
        """Close all of them."""
        self.limiter.leave()
        clients, self._all, self._idle = self._all, [], []
        for client in clients:
            await client.close()

    def _another(self) -> Client:
        client = self._make()
        self._all.append(client)
        return client


class LoopClients(Generic[Client]):
    """The clients of a judge. What a loop opened is closed when that loop ends.

    Threads may each run a loop of their own; ``limiter`` makes what limits the requests on each of them.
    """

    def __init__(self, make: Callable[[], Client], limiter: Callable[[], Limiter]) -> None:
        self._make = make
        self._limiter = limiter
        self._lock = threading.Lock()
        self._of: dict[asyncio.AbstractEventLoop, tuple[PerLoop[Client], AsyncGenerator[None]]] = {}

    async def here(self) -> PerLoop[Client]:
        """The clients of the running loop."""
        loop = asyncio.get_running_loop()
        found = self._of.get(loop)
        if found is not None:
            return found[0]
        clients = PerLoop(self._make, self._limiter())
        keeper = self._kept(loop, clients)
        with self._lock:
            for old in [old for old in self._of if old.is_closed()]:
                del self._of[old]
            self._of[loop] = clients, keeper
        await anext(keeper)
        return clients

    async def aclose(self) -> None:
        """Close the running loop's clients. Those of other loops are closed when their loops end."""
        found = self._of.get(asyncio.get_running_loop())
        if found is not None:
            await found[1].aclose()

    async def _kept(self, loop: asyncio.AbstractEventLoop, clients: PerLoop[Client]) -> AsyncGenerator[None]:
        # A loop closes its unfinished async generators when it ends (asyncio.run, Runner, pytest plugins):
        # the one moment at which connections nobody closed can still be closed cleanly.
        try:
            yield
        finally:
            self._of.pop(loop, None)
            await clients.aclose()
