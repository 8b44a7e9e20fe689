"""The schema, as the numbered steps that lead to it. Tables and indexes are made by them and nowhere else.

A step, once released, is never changed; a change of the schema is a new step at the end.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import BigInteger, Connection, Text, column, func, insert, inspect, select, table

from tracehooks.errors import StoreError
from tracehooks.store.database import Area, Database
from tracehooks.store.sqlite_file import VERSION_TABLE
from tracehooks.store.step import Step
from tracehooks.store.steps_1 import FIRST
from tracehooks.store.steps_2_to_7 import LISTED, LOSSES, NIGHTS, READ_BACKS, REFERENCES, REPLAYS
from tracehooks.store.steps_8_on import ACCOUNTS, BATCHES, DUE, SHARES, UNSENT

__all__ = ["STEPS", "VERSIONS", "Step", "migrate"]

VERSIONS = table(
    VERSION_TABLE, column("version", BigInteger), column("what", Text), column("applied_at", BigInteger)
)
MAKE_VERSIONS = (
    f"CREATE TABLE IF NOT EXISTS {VERSION_TABLE} "
    "(version BIGINT NOT NULL PRIMARY KEY, what TEXT NOT NULL, applied_at BIGINT NOT NULL)"
)

STEPS = (
    FIRST,
    LOSSES,
    REFERENCES,
    REPLAYS,
    NIGHTS,
    READ_BACKS,
    LISTED,
    ACCOUNTS,
    UNSENT,
    BATCHES,
    SHARES,
    DUE,
)


def migrate(database: Database, now: int, steps: Sequence[Step] = STEPS) -> None:
    """Bring the database to the newest schema. Several processes may do this at once.

    ``now`` is in microseconds. Raises StoreError when the schema is newer than ``steps`` know.
    """
    found = database.read(_version)
    if found > len(steps):
        raise StoreError(
            f"the store {database.where} was written by a newer tracehooks (its schema is {found}, this one "
            f"knows up to {len(steps)}); upgrade: pip install -U tracehooks"
        )
    for number, step in enumerate(steps[found:], start=found + 1):
        _apply(database, number, step, now)


def _apply(database: Database, number: int, step: Step, now: int) -> None:
    def work(connection: Connection) -> None:
        connection.exec_driver_sql(MAKE_VERSIONS)
        if _newest(connection) >= number:
            return  # another process was quicker
        for statement in step.statements:
            connection.exec_driver_sql(statement)
        row: dict[str, Any] = {"version": number, "what": step.what, "applied_at": now}
        connection.execute(insert(VERSIONS), [row])

    database.write(Area.SCHEMA, work)


def _version(connection: Connection) -> int:
    return _newest(connection) if inspect(connection).has_table(VERSION_TABLE) else 0


def _newest(connection: Connection) -> int:
    return connection.execute(select(func.max(VERSIONS.c.version))).scalar() or 0
