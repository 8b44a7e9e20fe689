"""One client for each event loop: a connection belongs to the loop that opened it."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar


class Closeable(Protocol):
    """A client that can be closed."""

    def close(self) -> Awaitable[None]:
        """Close its connections."""
        ...


Client = TypeVar("Client", bound=Closeable)


@dataclass(frozen=True, slots=True)
class PerLoop(Generic[Client]):
    """What belongs to one event loop: its client, and the slots that bound its requests in flight."""

    client: Client
    slots: asyncio.Semaphore
    keeper: AsyncGenerator[None]


class LoopClients(Generic[Client]):
    """Makes a client when a loop first needs one, and closes it when that loop ends.

    Threads may each run their own loop. ``slots`` bounds the requests in flight on each of them.
    """

    def __init__(self, make: Callable[[], Client], slots: int) -> None:
        self._make = make
        self._slots = slots
        self._lock = threading.Lock()
        self._of: dict[asyncio.AbstractEventLoop, PerLoop[Client]] = {}

    async def here(self) -> PerLoop[Client]:
        """The client and slots of the running loop."""
        loop = asyncio.get_running_loop()
        found = self._of.get(loop)
        if found is None:
            client = self._make()
            found = PerLoop(client, asyncio.Semaphore(self._slots), self._kept(loop, client))
            with self._lock:
                for old in [old for old in self._of if old.is_closed()]:
                    del self._of[old]
                self._of[loop] = found
            await anext(found.keeper)
        return found

    async def aclose(self) -> None:
        """Close the running loop's client. Those of other loops are closed when their loops end."""
        found = self._of.pop(asyncio.get_running_loop(), None)
        if found is not None:
            await found.keeper.aclose()

    async def _kept(self, loop: asyncio.AbstractEventLoop, client: Client) -> AsyncGenerator[None]:
        # A loop closes its unfinished async generators when it ends (asyncio.run, Runner, pytest plugins):
        # the one moment at which connections nobody closed can still be closed cleanly.
        try:
            yield
        finally:
            self._of.pop(loop, None)
            await client.close()
