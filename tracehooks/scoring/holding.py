"""Holding a run: its lease is renewed by a thread for as long as its process works on it."""

import logging
import threading
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING

from tracehooks.errors import StoreError

if TYPE_CHECKING:
    from tracehooks.store import Store

logger = logging.getLogger("tracehooks")

LEASE = timedelta(seconds=60)


class Holding:
    """Within it the run stays ``owner``'s, also while it plans and delivers; the dead renew nothing."""

    def __init__(self, store: "Store", run_id: str, owner: str, lease: timedelta = LEASE) -> None:
        self._store, self._run_id, self._owner, self._lease = store, run_id, owner, lease
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="tracehooks-holding", daemon=True)

    def __enter__(self) -> "Holding":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join(self._lease.total_seconds())

    def _renew(self) -> None:
        while not self._over.wait(self._lease.total_seconds() / 3):
            try:
                if not self._store.runs.hold(self._run_id, self._owner, self._lease):
                    return
            except StoreError as error:
                logger.warning("the lease of run %s could not be renewed: %s", self._run_id, error)
