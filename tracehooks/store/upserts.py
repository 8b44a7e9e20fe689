"""Insert-or-leave and insert-or-replace: the statement that each database has its own dialect of."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, TableClause
from sqlalchemy.dialects import postgresql, sqlite

Row = Mapping[str, Any]


def insert_missing(
    connection: Connection, table: TableClause, keys: Sequence[str], rows: Sequence[Row]
) -> int:
    """Insert the rows whose ``keys`` are not there yet. Returns how many those were."""
    if not rows:
        return 0
    statement = _insert(connection, table).on_conflict_do_nothing(index_elements=list(keys))
    # counted by what comes back: drivers do not agree on the row count of many inserts at once
    return len(connection.execute(statement.returning(table.c[keys[0]]), list(rows)).all())


def upsert(
    connection: Connection,
    table: TableClause,
    keys: Sequence[str],
    rows: Sequence[Row],
    *,
    kept: Sequence[str] = (),
) -> None:
    """Insert the rows; where one with the same ``keys`` is there, replace it but for the columns ``kept``."""
    if not rows:
        return
    statement = _insert(connection, table)
    replaced = {name: statement.excluded[name] for name in rows[0] if name not in {*keys, *kept}}
    statement = statement.on_conflict_do_update(index_elements=list(keys), set_=replaced)
    connection.execute(statement, list(rows))


def _insert(connection: Connection, table: TableClause) -> sqlite.Insert | postgresql.Insert:
    return sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)
