"""SQLAlchemy engines, set up for SQLite and for Postgres."""

from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.pool import QueuePool

from tracehooks.breathing import breathe
from tracehooks.store.sqlite_file import BUSY_SECONDS, PATIENCE_SECONDS
from tracehooks.store.url import IN_MEMORY

# execution option of a connection whose next transaction writes
WRITING = "tracehooks_writing"
# what is committed survives a killed process; a power cut may take the last commits, each as a whole
PRAGMAS = ("PRAGMA synchronous=NORMAL", "PRAGMA foreign_keys=ON")
ONE_STATE = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
POSTGRES_SETTINGS = (
    # a host that vanishes in the middle of a transaction must not keep the others out for ever
    "SET idle_in_transaction_session_timeout = '60s'",
    f"SET lock_timeout = '{PATIENCE_SECONDS:g}s'",
)


def make_engine(url: URL) -> Engine:
    """An engine for ``url``. Connections are opened when they are first needed."""
    engine = _sqlite_engine(url) if url.get_backend_name() == "sqlite" else _postgres_engine(url)
    for moment in ("before_cursor_execute", "after_cursor_execute", "commit"):
        event.listen(engine, moment, _breathe)
    return engine


def _breathe(*_: Any) -> None:
    breathe()


def _sqlite_engine(url: URL) -> Engine:
    # a reader never waits for another reader; but a database in memory is one connection, and they take turns
    size: dict[str, Any] = {"pool_size": 5, "max_overflow": -1}
    if url.database == IN_MEMORY:
        size = {"pool_size": 1, "max_overflow": 0, "pool_timeout": PATIENCE_SECONDS}
    engine = create_engine(
        url,
        poolclass=QueuePool,
        **size,
        hide_parameters=True,
        connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False},
    )
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: Any, _record: Any) -> None:
    # transactions are begun by _begin_sqlite, and not by the driver's guess
    connection.isolation_level = None
    for pragma in PRAGMAS:
        connection.execute(pragma).close()


def _begin_sqlite(connection: Connection) -> None:
    writing = connection.get_execution_options().get(WRITING)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _postgres_engine(url: URL) -> Engine:
    engine = create_engine(
        url, pool_pre_ping=True, hide_parameters=True, connect_args={"connect_timeout": 10}
    )
    event.listen(engine, "connect", _set_up_postgres)
    event.listen(engine, "begin", _begin_postgres)
    return engine


def _begin_postgres(connection: Connection) -> None:
    if not connection.get_execution_options().get(WRITING):
        connection.exec_driver_sql(ONE_STATE)


def _set_up_postgres(connection: Any, _record: Any) -> None:
    for setting in POSTGRES_SETTINGS:
        connection.execute(setting).close()
    connection.commit()
