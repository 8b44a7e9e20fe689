"""What database errors mean: which ones pass by waiting, and what to do about the others."""

import sqlite3

from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

from tracehooks.errors import TracehooksError

BUSY_CODES = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
# serialization failure, deadlock, lock timeout, too many connections
PASSING_SQLSTATES = frozenset({"40001", "40P01", "55P03", "53300"})

SQLITE_SENTENCES = {
    sqlite3.SQLITE_BUSY: "stayed locked by another process; stop the process that holds it, or try again",
    sqlite3.SQLITE_LOCKED: "stayed locked by another process; stop the process that holds it, or try again",
    sqlite3.SQLITE_NOTADB: "is not a SQLite database; move it away, or name another file as `store`",
    sqlite3.SQLITE_CORRUPT: "is damaged; move it away (`sqlite3 FILE .recover` may save rows) and run again",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; check that the path is a file and its folder may be written",
    sqlite3.SQLITE_READONLY: "may not be written; check the permissions of the file and its folder",
    sqlite3.SQLITE_PERM: "may not be written; check the permissions of the file and its folder",
    sqlite3.SQLITE_FULL: "cannot grow, the disk is full; free some space, or run `tracehooks traces prune`",
    sqlite3.SQLITE_IOERR: "cannot be read or written, the disk reports an error; check the disk",
}


def is_passing(error: SQLAlchemyError) -> bool:
    """Whether the same transaction may succeed a little later: somebody else is writing."""
    cause = error.orig if isinstance(error, DBAPIError) else None
    if isinstance(cause, sqlite3.Error):
        return sqlite_code(cause) in BUSY_CODES
    return getattr(cause, "sqlstate", None) in PASSING_SQLSTATES


def is_about_the_data(error: BaseException) -> bool:
    """Whether what was to be written may be the cause, and not the state of the database."""
    cause = error.__cause__
    if isinstance(error, TracehooksError):
        return isinstance(cause, DBAPIError) and not isinstance(cause, OperationalError)
    return True


def sqlite_code(error: sqlite3.Error) -> int:
    """SQLite's primary result code of ``error``; 0 when it has none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def explain(where: str, error: BaseException) -> str:
    """One sentence about ``error``, with the next step. Shows no statement and no parameters."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    if isinstance(cause, sqlite3.Error):
        sentence = SQLITE_SENTENCES.get(sqlite_code(cause))
        return f"the store {where} {sentence}" if sentence else f"the store {where} failed: {cause}"
    first_line = str(cause).strip().partition("\n")[0]
    if getattr(cause, "sqlstate", None) in PASSING_SQLSTATES:
        return f"the store {where} stayed busy with other clients; try again ({first_line})"
    if isinstance(error, OperationalError):
        return f"the store {where} cannot be reached: {first_line}; check `store` and the server"
    return f"the store {where} failed: {first_line}"
