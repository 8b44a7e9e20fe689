"""What is in the store at all: trace ids by their beginning, how many rows, how many bytes."""

from pathlib import Path

from sqlalchemy import Table, func, select, text, union
from sqlalchemy.sql.expression import TableClause

from tracehooks.store.calls import CALLS
from tracehooks.store.database import Database
from tracehooks.store.decisions import DECISIONS
from tracehooks.store.items import ITEMS
from tracehooks.store.runs import RUNS
from tracehooks.store.score_table import SCORES
from tracehooks.store.spans import SPANS

COUNTED: dict[str, Table | TableClause] = {"spans": SPANS, "calls": CALLS, "scores": SCORES, "runs": RUNS}
POSTGRES_SIZE = text("SELECT pg_database_size(current_database())")
# the write-ahead log is part of what a SQLite store takes on the disk
SQLITE_PARTS = ("", "-wal", "-shm")


class Overview:
    """Questions about the store as a whole."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def trace_ids(self, beginning: str, limit: int = 10) -> list[str]:
        """At most ``limit`` trace ids that begin with these hex digits, in order, whatever knows of them."""
        tables = (SPANS, CALLS, SCORES, ITEMS, DECISIONS)
        # a range, so that the index is used: g follows every hex digit
        parts = (
            select(each.c.trace_id)
            .where(each.c.trace_id >= beginning, each.c.trace_id < beginning + "g")
            .distinct()
            .order_by(each.c.trace_id)
            .limit(limit)
            .subquery()
            for each in tables
        )
        found = union(*(select(part.c.trace_id) for part in parts)).subquery()
        query = select(found.c.trace_id).order_by(found.c.trace_id).limit(limit)
        return self._database.read(lambda connection: list(connection.scalars(query)))

    def counts(self) -> dict[str, int]:
        """How many spans, calls, scores and runs there are."""
        queries = {name: select(func.count()).select_from(each) for name, each in COUNTED.items()}
        return self._database.read(
            lambda connection: {name: connection.scalar(query) or 0 for name, query in queries.items()}
        )

    def size(self) -> int:
        """How many bytes the store takes."""
        if not self._database.is_sqlite:
            return self._database.read(lambda connection: connection.scalar(POSTGRES_SIZE) or 0)
        files = [Path(self._database.where + part) for part in SQLITE_PARTS]
        return sum(file.stat().st_size for file in files if file.exists())
