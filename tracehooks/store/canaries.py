"""Stored canaries: what a judge said of the frozen texts, night by night."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, SmallInteger, Text, column, select, table

from tracehooks.store.database import Area, Database
from tracehooks.store.encoding import from_json, from_micros, safe_text, to_json, to_micros
from tracehooks.store.upserts import upsert

CANARIES = table(
    "canaries",
    column("run_id", Text),
    column("score_name", Text),
    column("judged_at", BigInteger),
    column("judge", Text),
    column("version", Text),
    column("shifted", SmallInteger),
    column("found", Text),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryNight:
    """What one run's judge said of the canaries: ``values`` by canary, None where it gave no score.

    ``judge`` is the model's configured name, ``version`` the scorer's. ``shifted`` says that they were unlike
    those of the nights before.
    """

    run_id: str
    score_name: str
    judged_at: datetime
    judge: str
    version: str
    values: Mapping[str, float | None]
    shifted: bool = False


class Canaries:
    """The canaries of all nights."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, night: CanaryNight, *, shifted: bool) -> None:
        """Keep what a run found; a run that is begun anew replaces its own."""
        row = {
            "run_id": night.run_id,
            "score_name": safe_text(night.score_name),
            "judged_at": to_micros(night.judged_at),
            "judge": safe_text(night.judge),
            "version": safe_text(night.version),
            "shifted": int(shifted),
            "found": to_json(dict(night.values)),
        }
        self._database.write(
            Area.WORK, lambda connection: upsert(connection, CANARIES, ("run_id", "score_name"), [row])
        )

    def of_run(self, run_id: str, score_name: str) -> CanaryNight | None:
        """What a run's judge said; None where it was not asked."""
        query = select(CANARIES).where(CANARIES.c.run_id == run_id, CANARIES.c.score_name == score_name)
        row = self._database.read(lambda connection: connection.execute(query).first())
        return None if row is None else _night(row)

    def before(
        self, score_name: str, judge: str, moment: datetime, *, but: str = "", limit: int = 30
    ) -> Sequence[CanaryNight]:
        """The last nights of a judge before ``moment``, newest first, shifted ones among them."""
        here = CANARIES.c
        query = select(CANARIES).where(
            here.score_name == score_name,
            here.judge == judge,
            here.judged_at < to_micros(moment),
            here.run_id != but,
        )
        query = query.order_by(here.judged_at.desc(), here.run_id).limit(limit)
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return [_night(row) for row in rows]


def _night(row: Any) -> CanaryNight:
    return CanaryNight(
        run_id=row.run_id,
        score_name=row.score_name,
        judged_at=from_micros(row.judged_at),
        judge=row.judge,
        version=row.version,
        values=from_json(row.found),
        shifted=bool(row.shifted),
    )
