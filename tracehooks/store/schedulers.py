"""The schedulers that look after a store, and when each was last seen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Text, column, delete, select, table

from tracehooks.store.database import Area, Database
from tracehooks.store.encoding import from_micros, safe_text, to_micros
from tracehooks.store.upserts import upsert

SCHEDULERS = table(
    "schedulers", column("owner", Text), column("started", BigInteger), column("seen", BigInteger)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerRecord:
    """One process of ``tracehooks schedule``; ``owner`` is its host, process id and birth."""

    owner: str
    started: datetime
    seen: datetime


class Schedulers:
    """The schedulers of a store. One that was stopped in order has left; one that was killed stays listed."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database, self._clock = database, clock

    def beat(self, owner: str) -> None:
        """Say that ``owner`` is there; the first time is its start."""
        now = to_micros(self._clock())
        row: dict[str, Any] = {"owner": safe_text(owner), "started": now, "seen": now}
        self._database.write(
            Area.WORK, lambda connection: upsert(connection, SCHEDULERS, ["owner"], [row], kept=["started"])
        )

    def leave(self, owner: str) -> None:
        """Take ``owner`` off the list."""
        statement = delete(SCHEDULERS).where(SCHEDULERS.c.owner == owner)
        self._database.write(Area.WORK, lambda connection: connection.execute(statement))

    def forget(self, before: datetime) -> None:
        """Take those off the list that were not seen since ``before``."""
        statement = delete(SCHEDULERS).where(SCHEDULERS.c.seen < to_micros(before))
        self._database.write(Area.WORK, lambda connection: connection.execute(statement))

    def list(self) -> Sequence[SchedulerRecord]:
        """All that are known, the one seen last first."""
        query = select(SCHEDULERS).order_by(SCHEDULERS.c.seen.desc(), SCHEDULERS.c.owner)
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return [
            SchedulerRecord(owner=row.owner, started=from_micros(row.started), seen=from_micros(row.seen))
            for row in rows
        ]
