"""Sending spans again from the store, in the background of an application: once their backend takes spans."""

import contextlib
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from tracehooks.tracing.trouble import trouble
from tracehooks.worker import BackgroundWorker

if TYPE_CHECKING:
    from tracehooks.settings import Settings

FIRST_LOOK = 5.0  # seconds after the start
EVERY = 60.0  # seconds between two looks at what waits in the store
FILE = "sqlite:///"
PASS_SECONDS = 300.0
LEAST = 1.0


class Keeper(Protocol):
    """The store's exporter, as far as it remembers who has got which span."""

    def await_backends(self, backends: Mapping[str, Mapping[str, Any]]) -> None:
        """From now on note which spans these have not got; for each, what else to keep of this process."""

    def note_taken(self, backend: str, places: Sequence[tuple[str, str]]) -> None:
        """Note that ``backend`` has these spans, given as (trace id, span id)."""


class Later:
    """Lets ``keeper`` know what ``exporters`` sent, and sends from the store what waits there.

    It looks when a backend has just taken spans, and once some seconds after the start, for the process that
    has none of its own. ``sent`` counts by backend.
    """

    def __init__(self, settings: "Settings", exporters: Mapping[str, Any], keeper: Any) -> None:
        self.names = tuple(exporters)
        self.sent: Counter[str] = Counter()
        self._settings = settings
        self._next = 0.0
        self._timer: threading.Timer | None = None
        self._closed = False
        self._worker: BackgroundWorker[None] = BackgroundWorker(
            "resending", self._resend, max_queue=1, max_batch=1, interval=0.01
        )
        keeper.await_backends({name: one.carried for name, one in exporters.items()})
        for name, exporter in exporters.items():
            exporter.on_taken = partial(self._taken, keeper, name)
        if _is_there(settings.store):
            self._look_again(FIRST_LOOK)

    def close(self) -> None:
        """Send no more; what waits is left to the next process."""
        self._closed = True
        self._cancel()
        self._worker.close(0)

    def _taken(self, keeper: Keeper, name: str, places: Sequence[tuple[str, str]]) -> None:
        keeper.note_taken(name, places)
        if monotonic() >= self._next:
            self._next = monotonic() + EVERY
            self._worker.put(None)

    def _resend(self, _: list[None]) -> None:
        from tracehooks.scoring.coordinator import this_owner
        from tracehooks.scoring.resending import Resender
        from tracehooks.store import open_store

        self._cancel()
        try:
            with (
                open_store(self._settings.store) as store,
                contextlib.closing(Resender.from_settings(self._settings, store, this_owner())) as resender,
            ):
                done = resender.resend(PASS_SECONDS)
                self.sent += resender.sent
                waits = [wait for name in self.names if (wait := store.unsent.wait(name)) is not None]
        except Exception as error:
            trouble("sending spans from the store", error)
            return
        if waits:
            self._look_again(min(max(LEAST, *waits), EVERY) if done else EVERY)

    def _cancel(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def _look_again(self, seconds: float) -> None:
        if self._closed:
            return
        self._timer = threading.Timer(seconds, self._worker.put, (None,))
        self._timer.daemon = True
        with contextlib.suppress(RuntimeError):  # on its way out the interpreter starts no threads
            self._timer.start()


def _is_there(store: str) -> bool:
    """Whether an earlier process may have left something in the store; one that is not there is not made."""
    return Path(store.removeprefix(FILE)).exists() if store.startswith(FILE) else "://" in store
