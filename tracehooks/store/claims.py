"""Rows of work that owners hold for a while: claimed under leases, given back, and finished by a token.

Each claim raises a row's token, so that what an earlier holder brings is refused.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar, Generic, TypeVar

from sqlalchemy import ColumnElement, Connection, TableClause, Update, and_, update

from tracehooks.store.database import Area, Database
from tracehooks.store.encoding import chunks, duration_micros, safe_text, to_micros

T = TypeVar("T")
Row = TypeVar("Row")

PLANNED: dict[str, Any] = {"state": "planned", "owner": None, "claimable_at": 0}
HELD_AT_ONCE = 500


class Claims(ABC, Generic[Row]):
    """What is done with claimed rows of ``_rows``, whichever table that is.

    It has the columns ``state`` (planned, claimed or done), ``owner``, ``token`` and ``claimable_at``: 0 when
    planned, the lease's end when claimed, null when done.
    """

    _rows: ClassVar[TableClause]
    _at_once: ClassVar[int] = HELD_AT_ONCE

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database, self._clock = database, clock

    @staticmethod
    @abstractmethod
    def _held(rows: Sequence[Row]) -> ColumnElement[bool]:
        """Which stored ones are ``rows``, claimed still with the token that each has."""

    def renew(self, rows: Sequence[Row], owner: str, lease: timedelta) -> int:
        """Hold on to ``rows`` for another ``lease``. Returns how many are still held with their tokens."""
        until = to_micros(self._clock()) + duration_micros(lease)
        mine = update(self._rows).where(self._rows.c.owner == safe_text(owner))
        return self._each_held(rows, mine.values(claimable_at=until))

    def release(self, rows: Sequence[Row]) -> int:
        """Give claimed ones back, where their tokens still count. Returns how many were given back."""
        return self._each_held(rows, update(self._rows).values(PLANNED))

    def release_owner(self, owner: str) -> int:
        """Give back all that ``owner``, who is gone, held. Returns how many that were."""
        mine = and_(self._rows.c.owner == safe_text(owner), self._rows.c.state == "claimed")
        statement = update(self._rows).where(mine).values(PLANNED)
        return self._write(lambda connection: connection.execute(statement).rowcount)

    def _each_held(self, rows: Sequence[Row], statement: Update) -> int:
        """Run ``statement`` on each row whose token still counts. Returns on how many."""

        def work(connection: Connection) -> int:
            groups = chunks(rows, self._at_once)
            return sum(connection.execute(statement.where(self._held(group))).rowcount for group in groups)

        return self._write(work) if rows else 0

    def _write(self, work: Callable[[Connection], T]) -> T:
        return self._database.write(Area.WORK, work)
