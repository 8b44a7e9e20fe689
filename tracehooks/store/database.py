"""The database behind a store: its transactions, how they wait for their turn, and how they survive a fork.

Every write transaction is alone: on SQLite by ``BEGIN IMMEDIATE``, on Postgres by an advisory lock. So the
same code is right on both, and never reads what another writer is about to change.

A SQLite file that is deleted, or replaced, while it is open goes on to take what is written, where nobody
will find it. So its place is looked at before every transaction, which then begins with the file that is
there, made anew if need be; what the old one held is gone.
"""

import threading
import time
from collections.abc import Callable
from enum import IntEnum
from typing import TypeVar

from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError

from tracehooks.errors import StoreError
from tracehooks.store import forks
from tracehooks.store.connections import Connections
from tracehooks.store.engines import WRITING
from tracehooks.store.failures import explain, is_passing
from tracehooks.store.sqlite_file import identity, pauses, prepare_file
from tracehooks.store.url import IN_MEMORY, MEMORY, parse_url
from tracehooks.tracing.trouble import trouble

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
    MONEY = 4


class Database:
    """One database, used from any thread of this process; a forked child gets connections of its own.

    ``make_schema`` is called before a database in memory that a fork left empty is used, and when a SQLite
    file was deleted or replaced.
    """

    def __init__(self, url: str) -> None:
        self._url = parse_url(url)
        self.is_sqlite = self._url.get_backend_name() == "sqlite"
        self.is_in_memory = self.is_sqlite and self._url.database == IN_MEMORY
        self.make_schema: Callable[[], None] | None = None
        self._is_empty = False
        self._filling = threading.Lock()
        self._filler: int | None = None
        self._file: tuple[int, int] | None = None
        if self.is_sqlite and not self.is_in_memory:
            self._prepare()
        self._pool = Connections(self._url, self.where)
        self._turns = {area: threading.Lock() for area in Area}
        forks.watch(self)

    @property
    def where(self) -> str:
        """The place, as people should see it: without a password."""
        if self.is_in_memory:
            return MEMORY
        return str(self._url.database) if self.is_sqlite else self._url.render_as_string(hide_password=True)

    @property
    def url(self) -> str:
        """The url, without a password."""
        return MEMORY if self.is_in_memory else self._url.render_as_string(hide_password=True)

    def read(self, work: Callable[[Connection], T]) -> T:
        """What ``work`` returns, run in a transaction that sees one state of the database."""
        return self._patiently(lambda: self._once(work, writing=False))

    def write(self, area: Area, work: Callable[[Connection], T]) -> T:
        """What ``work`` returns, run in a transaction that is alone in its area and committed at the end.

        When the database is busy ``work`` may run again. Raises StoreError when it stays busy or fails.
        """
        turn = self._turns[Area.SCHEMA if self.is_sqlite else area]
        alone = work if self.is_sqlite else _locking(area, work)
        return self._patiently(lambda: self._in_turn(turn, alone))

    def problems(self) -> list[str]:
        """What is wrong with the database; empty when it is whole."""
        if not self.is_sqlite:
            return []
        try:
            found = self.read(lambda connection: connection.exec_driver_sql(INTEGRITY).scalars().all())
        except StoreError as error:
            return [str(error)]
        return [] if found == ["ok"] else [str(problem) for problem in found]

    def shrink(self) -> None:
        """Give the space of deleted rows back to the disk, some at a time."""
        while self.is_sqlite and self.write(Area.SPANS, _shrink_some):
            pass

    def close(self) -> None:
        """Close all connections. Nothing can be read or written afterwards."""
        self._pool.close()

    def before_fork(self) -> None:
        """Let transactions end, and close all connections: a child must not inherit one."""
        self._pool.rest()

    def after_fork(self, *, in_child: bool) -> None:
        """Go on; connections are opened again when they are needed."""
        if in_child:
            self._turns = {area: threading.Lock() for area in Area}
            self._filling, self._filler, self._is_empty = threading.Lock(), None, self.is_in_memory
        self._pool.wake(in_child=in_child)

    def _patiently(self, attempt: Callable[[], T]) -> T:
        if self._filler != threading.get_ident():
            if self._is_gone():
                self._begin_anew()
            if self._is_empty:
                self._fill()
        for pause in pauses():
            try:
                return attempt()
            except SQLAlchemyError as error:
                if pause is None or not is_passing(error):
                    raise StoreError(explain(self.where, error)) from error
                time.sleep(pause)
        raise AssertionError("pauses() ends with None")

    def _prepare(self) -> None:
        prepare_file(str(self._url.database))
        self._file = identity(str(self._url.database))

    def _is_gone(self) -> bool:
        """Whether the file was deleted, or another has taken its place."""
        return self._file is not None and identity(str(self._url.database)) != self._file

    def _begin_anew(self) -> None:
        with self._filling:
            if not self._is_gone():
                return
            trouble("keeping the store", f"{self.where} was deleted or replaced; going on with what is there")
            self._pool.renew()
            self._prepare()
            self._is_empty = True

    def _fill(self) -> None:
        with self._filling:
            if not self._is_empty or self.make_schema is None:
                return
            self._filler = threading.get_ident()
            try:
                self.make_schema()
                self._is_empty = False
            finally:
                self._filler = None

    def _in_turn(self, turn: threading.Lock, work: Callable[[Connection], T]) -> T:
        # threads of one process queue up here, which is fairer than polling, and needs one connection
        with turn:
            return self._once(work, writing=True)

    def _once(self, work: Callable[[Connection], T], *, writing: bool) -> T:
        with (
            self._pool.connection() as connection,
            connection.execution_options(**{WRITING: writing}).begin(),
        ):
            return work(connection)


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
