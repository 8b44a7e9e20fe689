"""The open connections of one database, and how they rest while the process forks.

SQLite keeps its locks for each process in memory that a child would inherit: one who forks with a file open
would have a child that waits for locks that nobody holds, or holds none where it believes to. So there is no
connection at the moment of a fork.
"""

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import URL, Connection, Engine

from tracehooks.errors import StoreError
from tracehooks.store.engines import make_engine
from tracehooks.store.url import IN_MEMORY

# a fork does not wait longer for transactions of other threads
REST_SECONDS = 5.0


class Connections:
    """Connections to ``url``, opened when needed and kept for the next use. ``where`` is for messages."""

    _lock: threading.Condition
    _in_use: int
    _resting: bool
    _engine: Engine | None
    _finalizer: "weakref.finalize[..., Connections]"

    def __init__(self, url: URL, where: str) -> None:
        self._url, self._where = url, where
        self._in_memory = url.database == IN_MEMORY
        self._refusal: str | None = None
        self._start_anew()

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection for one transaction. Raises StoreError when there can be none."""
        engine = self._enter()
        try:
            with engine.connect() as connection:
                yield connection
        finally:
            with self._lock:
                self._in_use -= 1
                self._lock.notify_all()

    def close(self) -> None:
        """Close all connections for good."""
        with self._lock:
            self._refusal = f"the store {self._where} is closed; open it again"
            self._dispose()

    def renew(self) -> None:
        """Close all that are not in use; those that are close when they are given back."""
        with self._lock:
            self._dispose()

    def rest(self) -> None:
        """Wait until no connection is in use, keep it so, and close all. Gives up after some seconds.

        The one of a database in memory stays: it is the database.
        """
        self._lock.acquire()
        self._resting = True
        if self._lock.wait_for(lambda: self._in_use == 0, REST_SECONDS) and not self._in_memory:
            self._dispose()
        self._lock.release()

    def wake(self, *, in_child: bool) -> None:
        """Go on after a fork, in the parent or in the child."""
        if in_child:
            self._wake_in_child()
            return
        with self._lock:
            self._resting = False
            self._lock.notify_all()

    def _wake_in_child(self) -> None:
        if self._engine is not None:
            # the parent's database in memory; or somebody was in the middle of a transaction for too long
            self._finalizer.detach()
            _NEVER_TO_BE_CLOSED.append(self._engine)
            if not self._in_memory and self._url.get_backend_name() == "sqlite":
                self._refusal = (
                    f"this process was forked while its parent used the store {self._where}; "
                    "start it by spawn instead, or fork when no traced call is running"
                )
        self._start_anew()

    def _start_anew(self) -> None:
        self._lock = threading.Condition()
        self._in_use = 0
        self._resting = False
        self._engine = None

    def _enter(self) -> Engine:
        with self._lock:
            self._lock.wait_for(lambda: not self._resting)
            if self._refusal is not None:
                raise StoreError(self._refusal)
            if self._engine is None:
                self._engine = make_engine(self._url)
                # closes what its owner forgot to close
                self._finalizer = weakref.finalize(self, Engine.dispose, self._engine)
                # a database in memory must outlive whatever else is done at the end of the process
                self._finalizer.atexit = not self._in_memory
            self._in_use += 1
            return self._engine

    def _dispose(self) -> None:
        if self._engine is not None:
            self._finalizer.detach()
            self._engine.dispose()
            self._engine = None


# closing an inherited connection, even by collecting it, would disturb the parent
_NEVER_TO_BE_CLOSED: list[Engine] = []
