"""Stored replies of judges, by everything that made them, so that the same question is not paid for twice."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from sqlalchemy import BigInteger, Connection, Text, column, delete, func, select, table

from tracehooks.store.database import Area, Database
from tracehooks.store.encoding import optional_text, safe_text, to_micros
from tracehooks.store.upserts import upsert

VERDICTS = table(
    "verdicts",
    column("id", Text),
    column("stored_at", BigInteger),
    column("made_by", Text),
    column("model", Text),
    column("reply", Text),
)


class Verdicts:
    """The replies that led to a verdict. Failures are never among them."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database, self._clock = database, clock

    def get(self, key: str, age: timedelta, *, but: str) -> tuple[str, str | None] | None:
        """The reply stored under ``key`` and the model that gave it; None where there is none.

        One older than ``age`` does not count, nor one that was made by ``but``, the run that asks.
        """
        oldest = to_micros(self._clock() - age)
        query = select(VERDICTS).where(
            VERDICTS.c.id == key, VERDICTS.c.stored_at >= oldest, VERDICTS.c.made_by != but
        )
        row = self._database.read(lambda connection: connection.execute(query).first())
        return None if row is None else (row.reply, row.model)

    def put(self, found: Mapping[str, tuple[str, str | None]], *, made_by: str) -> None:
        """Store replies by their keys, each with its model, in place of earlier ones."""
        now = to_micros(self._clock())
        rows = [
            {
                "id": key,
                "stored_at": now,
                "made_by": made_by,
                "model": optional_text(model),
                "reply": safe_text(reply),
            }
            for key, (reply, model) in found.items()
        ]
        self._database.write(Area.MONEY, lambda connection: upsert(connection, VERDICTS, ("id",), rows))

    def prune(self, size: int, age: timedelta) -> int:
        """Forget what is older than ``age``, and all but the ``size`` newest. Returns how many."""
        oldest = to_micros(self._clock() - age)

        def work(connection: Connection) -> int:
            gone = connection.execute(delete(VERDICTS).where(VERDICTS.c.stored_at < oldest)).rowcount
            over = (connection.execute(select(func.count()).select_from(VERDICTS)).scalar() or 0) - size
            if over <= 0:
                return gone
            first = select(VERDICTS.c.id).order_by(VERDICTS.c.stored_at, VERDICTS.c.id).limit(over)
            return gone + connection.execute(delete(VERDICTS).where(VERDICTS.c.id.in_(first))).rowcount

        return self._database.write(Area.MONEY, work)
