"""Insert-or-leave and insert-or-replace: the statement that each database has its own dialect of."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Insert, TableClause
from sqlalchemy.dialects import postgresql, sqlite

from tracehooks.store.encoding import chunks

Row = Mapping[str, Any]
ROWS_AT_ONCE = 8  # of SQLite's: between two such pieces background work rests


def insert_missing(
    connection: Connection, table: TableClause, keys: Sequence[str], rows: Sequence[Row]
) -> int:
    """Insert the rows whose ``keys`` are not there yet. Returns how many those were."""
    if not rows:
        return 0
    statement = _inserting(connection.dialect.name, table, tuple(keys))
    if connection.dialect.name == "sqlite":
        return sum(_executed(connection, statement, rows))
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
    replaced = tuple(name for name in rows[0] if name not in {*keys, *kept})
    statement = _replacing(connection.dialect.name, table, tuple(keys), replaced)
    if connection.dialect.name == "sqlite":
        sum(_executed(connection, statement, rows))
    else:
        connection.execute(statement, list(rows))


def _executed(connection: Connection, statement: Insert, rows: Sequence[Row]) -> Iterator[int]:
    """Hand ``rows`` to SQLite's driver, some at a time. Yields how many each time changed something."""
    sql, names = _compiled(statement, tuple(rows[0]))
    for some in chunks(rows, ROWS_AT_ONCE):
        yield connection.exec_driver_sql(sql, [tuple(row[name] for name in names) for row in some]).rowcount


@lru_cache(maxsize=256)
def _compiled(statement: Insert, columns: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    compiled: Any = statement.compile(dialect=sqlite.dialect(), column_keys=list(columns))
    return str(compiled), tuple(compiled.positiontup)


# made once: with a clause for each column, making one costs more than running it
@lru_cache(maxsize=256)
def _inserting(dialect: str, table: TableClause, keys: tuple[str, ...]) -> Insert:
    return _insert(dialect, table).on_conflict_do_nothing(index_elements=list(keys))


@lru_cache(maxsize=256)
def _replacing(dialect: str, table: TableClause, keys: tuple[str, ...], replaced: tuple[str, ...]) -> Insert:
    statement = _insert(dialect, table)
    values = {name: statement.excluded[name] for name in replaced}
    return statement.on_conflict_do_update(index_elements=list(keys), set_=values)


def _insert(dialect: str, table: TableClause) -> sqlite.Insert | postgresql.Insert:
    return sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)
