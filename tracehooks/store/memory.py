"""The store of a host without a durable disk: one database in memory, the same for a whole process.

It is there from the first ``open_store("memory")`` to the last close. A forked child begins with an empty
one.
"""

import os
import threading
from collections.abc import Callable

from tracehooks.store.database import Database


class SharedMemory:
    """The process's one database in memory, and how many have it open."""

    def __init__(self) -> None:
        self._database: Database | None = None
        self._users = 0
        self.renew_lock()

    def renew_lock(self) -> None:
        """Go on in a forked child, where another thread may have held the lock."""
        self._lock = threading.RLock()

    def open(self, make: Callable[[], Database]) -> Database:
        """The database, made by ``make`` for the first who opens it."""
        with self._lock:
            if self._database is None:
                self._database = make()
            self._users += 1
            return self._database

    def leave(self) -> None:
        """One of those who opened it is done. With the last one it is gone."""
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._database is not None:
                self._database.close()
                self._database = None


SHARED = SharedMemory()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=SHARED.renew_lock)
