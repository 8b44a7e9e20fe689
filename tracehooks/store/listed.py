"""What runs have listed from a backend: a number for each call, eight bytes, so that none is lost or doubled.

A call that starts before a window and comes late must be told from one that an earlier run saw and did not
draw. Of calls in the local store there are decisions; of the hundred thousands that stay on a server there is
this.
"""

import base64
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Connection, Select, Text, column, delete, insert, select, table

from tracehooks.store.database import Area, Database
from tracehooks.store.encoding import to_micros
from tracehooks.store.runs import RUNS

LISTED = table("listed", column("run_id", Text), column("part", BigInteger), column("keys", Text))
ENDED = ("finished", "skipped")
PART = 60_000  # keys a row: about 640 kB of text


class Listed:
    """The keys of the calls that runs listed: unsigned 64-bit integers."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def replace(self, run_id: str, keys: Sequence[int]) -> None:
        """Make ``keys`` what the run has listed."""
        rows = [
            {"run_id": run_id, "part": part, "keys": _written(keys[start : start + PART])}
            for part, start in enumerate(range(0, len(keys), PART))
        ]

        def work(connection: Connection) -> None:
            connection.execute(delete(LISTED).where(LISTED.c.run_id == run_id))
            if rows:
                connection.execute(insert(LISTED), rows)

        self._database.write(Area.WORK, work)

    def of_run(self, run_id: str) -> "array[int]":
        """The keys that one run has listed, in order."""
        return self._sorted(select(LISTED.c["keys"]).where(LISTED.c.run_id == run_id))

    def before(self, job: str, since: datetime, *, but: str | None = None) -> "array[int]":
        """The keys that the runs of ``job`` listed whose windows end after ``since``, in order.

        ``but`` is a run that does not count: one looks at its own calls again. Nor does a run that did not
        come to its end: what it listed may have been judged by nobody.
        """
        query = select(LISTED.c["keys"]).join_from(LISTED, RUNS, LISTED.c.run_id == RUNS.c.id)
        query = query.where(RUNS.c.job == job, RUNS.c.window_end > to_micros(since), RUNS.c.id != (but or ""))
        query = query.where(RUNS.c.state.in_(ENDED))
        return self._sorted(query)

    def _sorted(self, query: Select[Any]) -> "array[int]":
        texts: Iterable[str] = self._database.read(
            lambda connection: connection.execute(query).scalars().all()
        )
        return array("Q", sorted(key for text in texts for key in _read(text)))


def prune_listed(connection: Connection, limit: int) -> None:
    """Forget what runs listed whose windows ended before ``limit``, in microseconds."""
    old = select(RUNS.c.id).where(RUNS.c.window_end < limit)
    connection.execute(delete(LISTED).where(LISTED.c.run_id.in_(old)))


def _written(keys: Iterable[int]) -> str:
    return base64.b64encode(_little(array("Q", keys)).tobytes()).decode()


def _read(text: str) -> Iterator[int]:
    keys = array("Q")
    keys.frombytes(base64.b64decode(text))
    return iter(_little(keys))


def _little(keys: "array[int]") -> "array[int]":
    """The keys as a store keeps them, the same on every machine: the lowest byte first."""
    if sys.byteorder == "big":
        keys.byteswap()
    return keys
