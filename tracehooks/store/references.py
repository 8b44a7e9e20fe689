"""Stored references: what later noise runs are compared with. They are only ever added: history is kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Connection, Text, column, func, insert, select, table

from tracehooks.errors import ConfigurationError
from tracehooks.store.database import Area, Database
from tracehooks.store.encoding import from_json, from_micros, safe_text, to_json, to_micros

REFERENCES = table(
    "reference_sets",  # "references" is a word of SQL
    column("id", Text),
    column("project", Text),
    column("agent", Text),
    column("score_name", Text),
    column("number", BigInteger),
    column("blessed_at", BigInteger),
    column("document", Text),
)
NEWEST_FIRST = (REFERENCES.c.blessed_at.desc(), REFERENCES.c.number.desc(), REFERENCES.c.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceRecord:
    """One reference as stored. ``document`` is all that it holds, as JSON-ready values.

    ``number`` counts the references of this project, agent and score from 1.
    """

    id: str
    project: str
    agent: str
    score_name: str
    number: int
    blessed_at: datetime
    document: Mapping[str, Any]


class References:
    """The references, each with those before it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self,
        reference_id: str,
        *,
        project: str,
        agent: str,
        score_name: str,
        blessed_at: datetime,
        document: Mapping[str, Any],
    ) -> ReferenceRecord:
        """Put a reference after those that are there; one of this id that is there already is returned."""
        key = {"project": safe_text(project), "agent": safe_text(agent), "score_name": safe_text(score_name)}

        def work(connection: Connection) -> Any:
            same = select(REFERENCES).where(REFERENCES.c.id == reference_id)
            if found := connection.execute(same).one_or_none():
                return found
            last = select(func.max(REFERENCES.c.number)).where(*_is(key))
            row = {
                "id": reference_id,
                **key,
                "number": (connection.scalar(last) or 0) + 1,
                "blessed_at": to_micros(blessed_at),
                "document": to_json(document),
            }
            connection.execute(insert(REFERENCES), [row])
            return connection.execute(same).one()

        return _record(self._database.write(Area.WORK, work))

    def latest(self, *, project: str, agent: str, score_name: str) -> ReferenceRecord | None:
        """The reference in force: the one blessed last; None when there is none."""
        return next(iter(self.history(project=project, agent=agent, score_name=score_name, limit=1)), None)

    def history(
        self, *, project: str, agent: str | None = None, score_name: str | None = None, limit: int = 100
    ) -> Sequence[ReferenceRecord]:
        """The references of the project, of this agent and score where given, newest first."""
        key = {"project": project, "agent": agent, "score_name": score_name}
        query = select(REFERENCES).where(*_is(key)).order_by(*NEWEST_FIRST).limit(limit)
        return self._database.read(lambda connection: [_record(row) for row in connection.execute(query)])

    def get(self, reference_id: str) -> ReferenceRecord:
        """The reference with this id, or the only one whose id starts like this.

        Raises ConfigurationError when there is none, or more than one.
        """
        begins = REFERENCES.c.id.startswith(safe_text(reference_id), autoescape=True)
        query = select(REFERENCES).where(begins).limit(2)
        rows = self._database.read(lambda connection: connection.execute(query).all()) if reference_id else []
        if len(rows) != 1:
            how = "is the beginning of several references' ids" if rows else "is no reference's id"
            raise ConfigurationError(f"{reference_id!r} {how}; `tracehooks reference show --all` lists them")
        return _record(rows[0])


def _is(key: Mapping[str, str | None]) -> list[Any]:
    return [REFERENCES.c[name] == safe_text(value) for name, value in key.items() if value is not None]


def _record(row: Any) -> ReferenceRecord:
    return ReferenceRecord(
        id=row.id,
        project=row.project,
        agent=row.agent,
        score_name=row.score_name,
        number=row.number,
        blessed_at=from_micros(row.blessed_at),
        document=from_json(row.document),
    )
