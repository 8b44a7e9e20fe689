"""Spans that never reached the store, noted by the processes that lost them, so that a night can tell."""

from collections.abc import Callable
from datetime import datetime

from sqlalchemy import BigInteger, Connection, column, func, insert, select, table

from tracehooks.store.database import Area, Database
from tracehooks.store.encoding import to_micros

LOSSES = table("losses", column("noted_at", BigInteger), column("spans", BigInteger))


class Losses:
    """How many spans were lost, and when that was noted."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database, self._clock = database, clock

    def add(self, spans: int) -> None:
        """Note that so many spans more were lost. The count is all that is known of them."""
        row = {"noted_at": to_micros(self._clock()), "spans": spans}

        def work(connection: Connection) -> None:
            connection.execute(insert(LOSSES), [row])

        if spans > 0:
            self._database.write(Area.SPANS, work)

    def count(self, start: datetime | None = None, end: datetime | None = None) -> int:
        """How many spans were noted as lost from ``start`` on and before ``end``."""
        query = select(func.coalesce(func.sum(LOSSES.c.spans), 0))
        if start is not None:
            query = query.where(LOSSES.c.noted_at >= to_micros(start))
        if end is not None:
            query = query.where(LOSSES.c.noted_at < to_micros(end))
        return int(self._database.read(lambda connection: connection.scalar(query)) or 0)
