"""Where a store is: the url of the settings, checked and completed."""

import os
from importlib.util import find_spec
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from tracehooks.errors import ConfigurationError, MissingExtraError

FORMS = "sqlite:///path/to/file.db, postgresql://user@host/database, or memory"
MEMORY = "memory"
IN_MEMORY = ":memory:"  # SQLite's own name for it
POSTGRES = "postgresql"
POSTGRES_DRIVER = "postgresql+psycopg"


def parse_url(text: str) -> URL:
    """The checked url of a store, with an absolute path for SQLite and a driver for Postgres.

    Raises ConfigurationError for one that is not of the known forms, MissingExtraError when the driver is not
    installed.
    """
    if text == MEMORY:
        return URL.create("sqlite", database=IN_MEMORY)
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise ConfigurationError(f"store: {_shown(text)} is not a database url; give {FORMS}") from None
    kind = url.drivername.partition("+")[0]
    if kind == "sqlite":
        return _sqlite(url)
    if kind in (POSTGRES, "postgres"):
        return _postgres(url)
    raise ConfigurationError(f"store: {url.drivername} is not supported; give {FORMS}")


def _shown(text: str) -> str:
    """An unreadable url may hold a password: only its beginning is shown."""
    return repr(str(text).partition(":")[0] + ":...") if ":" in str(text) else repr(text)


def _sqlite(url: URL) -> URL:
    path = url.database or ""
    if path in ("", IN_MEMORY) or path.startswith("file:"):
        raise ConfigurationError(
            "store: a SQLite store is a file that several connections open; give its path: "
            "sqlite:///path.db; or give memory, for a store that ends with the process"
        )
    # the working directory may change before the next connection is opened
    absolute = Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100 - keeps symbolic links
    return url.set(drivername="sqlite", database=str(absolute))


def _postgres(url: URL) -> URL:
    if find_spec("psycopg") is None:
        raise MissingExtraError("store: Postgres needs psycopg; run: pip install 'tracehooks[postgres]'")
    return url.set(drivername=POSTGRES_DRIVER)
