"""The SQLite file: made ready, told from other programs' files, and checked."""

import os
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from tracehooks.errors import StoreError
from tracehooks.store.failures import BUSY_CODES, explain, sqlite_code

# how long SQLite itself waits; short, because a fork waits for connections in use
BUSY_SECONDS = 0.1
PATIENCE_SECONDS = 30.0
LONGEST_PAUSE_SECONDS = 0.05
OWN_FOLDER = ".tracehooks"
OLDEST_SQLITE = (3, 35, 0)  # the first with RETURNING
VERSION_TABLE = "tracehooks_schema"
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
PAGES = "PRAGMA page_count"
JOURNAL = "PRAGMA journal_mode"
# pruning gives space back to the disk; can only be chosen before the first table is made
AUTO_VACUUM = "PRAGMA auto_vacuum=INCREMENTAL"
# readers and the one writer do not wait for each other
WRITE_AHEAD_LOG = "PRAGMA journal_mode=WAL"


def prepare_file(path: str) -> None:
    """Make the file at ``path`` ready for many processes; its folder too. Several may do this at once.

    Raises StoreError when it cannot be used: not a database, or another program's.
    """
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise StoreError(
            f"SQLite {sqlite3.sqlite_version} is too old: 3.35 or later is needed; use another Python build, "
            "or Postgres as `store`"
        )
    try:
        _make_folder(Path(path).parent)
    except OSError as error:
        raise StoreError(
            f"the folder of the store {path} cannot be made: {error.strerror}; name another"
        ) from error
    for pause in pauses():
        try:
            return _prepare(path)
        except sqlite3.Error as error:
            # switching to the write-ahead log does not wait for its turn by itself
            if sqlite_code(error) not in BUSY_CODES or pause is None:
                raise StoreError(explain(path, error)) from error
            time.sleep(pause)
    raise AssertionError("pauses() ends with None")


def identity(path: str) -> tuple[int, int] | None:
    """What tells the file at ``path`` from one that takes its place; None when there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - before every transaction, and a Path costs more than the call
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _make_folder(folder: Path) -> None:
    """Make the folder; one of our own tells git to leave it alone, for what agents were told is private."""
    if folder.name != OWN_FOLDER or folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        return
    folder.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")


def _prepare(path: str) -> None:
    with closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as connection:
        names = {name for (name,) in connection.execute(TABLES)}
        if names and VERSION_TABLE not in names:
            raise StoreError(
                f"{path} is a database of another program (it has a table {min(names)!r}); "
                "name another file as `store`"
            )
        if connection.execute(PAGES).fetchone() == (0,):
            connection.execute(AUTO_VACUUM)
        # asked first, because setting it waits for writers
        if connection.execute(JOURNAL).fetchone() != ("wal",):
            connection.execute(WRITE_AHEAD_LOG)


def pauses() -> Iterator[float | None]:
    """Growing pauses in seconds between tries, for as long as one should be patient; None at the end."""
    end = time.monotonic() + PATIENCE_SECONDS
    pause = 0.005
    while time.monotonic() < end:
        yield pause * random.uniform(0.5, 1.5)
        pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
    yield None
