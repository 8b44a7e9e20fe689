"""The database behind a store: its transactions, how they wait for their turn, and how they survive a fork.

Every write transaction is alone: on SQLite by ``BEGIN IMMEDIATE``, on Postgres by an advisory lock. So the
same code is right on both, and never reads what another writer is about to change.
"""

import os
import threading
import time
import weakref
from collections.abc import Callable
from enum import IntEnum
from typing import TypeVar

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

from tracehooks.errors import StoreError
from tracehooks.store.engines import WRITING, make_engine
from tracehooks.store.failures import explain, is_passing
from tracehooks.store.sqlite_file import pauses, prepare_file
from tracehooks.store.url import parse_url

T = TypeVar("T")

INTEGRITY = "PRAGMA integrity_check"
FREE_PAGES = "PRAGMA freelist_count"
RELEASE_PAGES = "PRAGMA incremental_vacuum(2000)"
POSTGRES_LOCK = text("SELECT pg_advisory_xact_lock(7491, :area)")


class Area(IntEnum):
    """What a write transaction changes. Writers of one area take turns."""

    SCHEMA = 1
    SPANS = 2
    WORK = 3


class Database:
    """One database, used from any thread of this process; a forked child gets connections of its own."""

    _engine: Engine | None
    _finalizer: "weakref.finalize[..., Database]"
    _making: threading.Lock
    _turn: threading.Lock

    def __init__(self, url: str) -> None:
        self._url = parse_url(url)
        self.is_sqlite = self._url.get_backend_name() == "sqlite"
        if self.is_sqlite:
            prepare_file(str(self._url.database))
        self._closed = False
        self._start_anew()
        _OPEN.add(self)

    @property
    def where(self) -> str:
        """The place, as people should see it: without a password."""
        return str(self._url.database) if self.is_sqlite else self._url.render_as_string(hide_password=True)

    @property
    def url(self) -> str:
        """The url, without a password."""
        return self._url.render_as_string(hide_password=True)

    def read(self, work: Callable[[Connection], T]) -> T:
        """What ``work`` returns, run in a transaction that sees one state of the database."""
        return self._patiently(lambda: self._once(work, writing=False))

    def write(self, area: Area, work: Callable[[Connection], T]) -> T:
        """What ``work`` returns, run in a transaction that is alone in its area and committed at the end.

        When the database is busy ``work`` may run again. Raises StoreError when it stays busy or fails.
        """
        if not self.is_sqlite:
            return self._patiently(lambda: self._once(_locking(area, work), writing=True))
        # threads of one process queue up first, which is fairer than SQLite's polling
        return self._patiently(lambda: self._in_turn(work))

    def problems(self) -> list[str]:
        """What is wrong with the database; empty when it is whole."""
        if not self.is_sqlite:
            return []
        found = self.read(lambda connection: connection.exec_driver_sql(INTEGRITY).scalars().all())
        return [] if found == ["ok"] else [str(problem) for problem in found]

    def shrink(self) -> None:
        """Give the space of deleted rows back to the disk, some at a time."""
        while self.is_sqlite and self.write(Area.SPANS, _shrink_some):
            pass

    def close(self) -> None:
        """Close all connections. Nothing can be read or written afterwards."""
        self._closed = True
        with self._making:
            if self._engine is not None:
                self._finalizer.detach()
                self._engine.dispose()
                self._engine = None

    def after_fork(self) -> None:
        """Leave the parent's connections alone, and have new ones made when they are needed."""
        if self._engine is not None:
            self._finalizer.detach()
            # closing them here would disturb the parent, and so would letting them be collected
            _INHERITED.append(self._engine)
        self._start_anew()

    def _start_anew(self) -> None:
        self._engine = None
        self._making = threading.Lock()
        self._turn = threading.Lock()

    def _patiently(self, attempt: Callable[[], T]) -> T:
        for pause in pauses():
            try:
                return attempt()
            except SQLAlchemyError as error:
                if pause is None or not is_passing(error):
                    raise StoreError(explain(self.where, error)) from error
                time.sleep(pause)
        raise AssertionError("pauses() ends with None")

    def _in_turn(self, work: Callable[[Connection], T]) -> T:
        with self._turn:
            return self._once(work, writing=True)

    def _once(self, work: Callable[[Connection], T], *, writing: bool) -> T:
        with self._connected() as connection, connection.execution_options(**{WRITING: writing}).begin():
            return work(connection)

    def _connected(self) -> Connection:
        with self._making:
            if self._closed:
                raise StoreError(f"the store {self.where} is closed; open it again")
            if self._engine is None:
                self._engine = make_engine(self._url)
                # closes what its owner forgot to close
                self._finalizer = weakref.finalize(self, Engine.dispose, self._engine)
            engine = self._engine
        return engine.connect()


def _shrink_some(connection: Connection) -> bool:
    """Release some free pages. Returns whether there was anything to release."""
    before = connection.exec_driver_sql(FREE_PAGES).scalar()
    cursor = connection.connection.cursor()
    cursor.execute(RELEASE_PAGES)
    cursor.fetchall()  # each step releases one page
    cursor.close()
    return before != connection.exec_driver_sql(FREE_PAGES).scalar()


def _locking(area: Area, work: Callable[[Connection], T]) -> Callable[[Connection], T]:
    def locked(connection: Connection) -> T:
        connection.execute(POSTGRES_LOCK, {"area": int(area)})
        return work(connection)

    return locked


# what a fork has to know; the only state of this module
_OPEN: "weakref.WeakSet[Database]" = weakref.WeakSet()
_INHERITED: list[Engine] = []


def _after_fork() -> None:
    for database in list(_OPEN):
        database.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
