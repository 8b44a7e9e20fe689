"""Stored notices: what people are to be told, each once to each channel, kept until it was sent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, Connection, Text, column, func, select, table, update

from tracehooks.store.database import Area, Database
from tracehooks.store.encoding import duration_micros, from_json, optional_text, safe_text, to_json, to_micros
from tracehooks.store.outcomes import pause_after
from tracehooks.store.upserts import insert_missing

NOTICES = table(
    "notices",
    column("id", Text),
    column("job", Text),
    column("agent", Text),
    column("kind", Text),
    column("channel", Text),
    column("payload", Text),
    column("created", BigInteger),
    column("state", Text),
    column("attempts", BigInteger),
    column("next_attempt", BigInteger),
    column("error", Text),
)
GIVEN_UP_AFTER = 12  # attempts, about an hour and a half
AT_ONCE = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One thing that people are told. ``id`` says what about: the same thing has the same id.

    ``agent`` is empty for what concerns all agents; ``channel`` is where it goes.
    """

    id: str
    job: str
    kind: str
    channel: str
    agent: str = ""
    payload: Mapping[str, Any]
    state: str = "pending"
    attempts: int = 0
    error: str | None = None


class Notices:
    """The notices, sent or not."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database, self._clock = database, clock

    def add(self, notices: Sequence[Notice]) -> int:
        """Put notices up to be sent; those that are known stay as they are. Returns how many are new."""
        now = to_micros(self._clock())
        rows = [_row(notice, now) for notice in notices]
        return self._database.write(
            Area.WORK, lambda connection: insert_missing(connection, NOTICES, ["id"], rows)
        )

    def pending(self, lease: timedelta) -> list[Notice]:
        """Take some that are due; no one else gets them before ``lease`` is over."""
        now = to_micros(self._clock())
        due = (
            select(NOTICES.c.id)
            .where(NOTICES.c.state == "pending", NOTICES.c.next_attempt <= now)
            .order_by(NOTICES.c.next_attempt, NOTICES.c.id)
            .limit(AT_ONCE)
            .cte("due")
        )
        statement = (
            update(NOTICES)
            .where(NOTICES.c.id == due.c.id)
            .values(next_attempt=now + duration_micros(lease), attempts=NOTICES.c.attempts + 1)
            .returning(*NOTICES.c)
        )

        def work(connection: Connection) -> list[Notice]:
            return [_notice(row) for row in connection.execute(statement)]

        return self._database.write(Area.WORK, work)

    def settle(self, notice: Notice, error: str | None = None) -> None:
        """Note that ``notice`` was sent, or why not: then it is due again after a pause, or given up."""
        values: dict[str, Any] = {"state": "sent", "error": None}
        if error is not None:
            pause = duration_micros(pause_after(notice.attempts))
            values = {"error": optional_text(error), "next_attempt": to_micros(self._clock()) + pause}
            if notice.attempts >= GIVEN_UP_AFTER:
                values["state"] = "dead"
        statement = update(NOTICES).where(NOTICES.c.id == notice.id).values(values)
        self._database.write(Area.WORK, lambda connection: connection.execute(statement))

    def latest(self, job: str, agent: str, channel: str, kinds: Sequence[str]) -> Notice | None:
        """The last one of these kinds about the job, or the agent, that the channel was given."""
        query = (
            select(NOTICES)
            .where(NOTICES.c.job == job, NOTICES.c.agent == agent, NOTICES.c.channel == channel)
            .where(NOTICES.c.kind.in_(kinds))
            .order_by(NOTICES.c.created.desc(), NOTICES.c.id.desc())
            .limit(1)
        )
        row = self._database.read(lambda connection: connection.execute(query).one_or_none())
        return None if row is None else _notice(row)

    def counts(self) -> dict[str, int]:
        """How many are pending, sent and dead."""
        query = select(NOTICES.c.state, func.count()).group_by(NOTICES.c.state)
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return {row[0]: row[1] for row in rows}


def _row(notice: Notice, now: int) -> dict[str, Any]:
    return {
        "id": safe_text(notice.id),
        "job": safe_text(notice.job),
        "agent": safe_text(notice.agent),
        "kind": notice.kind,
        "channel": safe_text(notice.channel),
        "payload": to_json(notice.payload),
        "created": now,
        "state": "pending",
        "attempts": 0,
        "next_attempt": now,
        "error": None,
    }


def _notice(row: Any) -> Notice:
    return Notice(
        id=row.id,
        job=row.job,
        kind=row.kind,
        channel=row.channel,
        agent=row.agent,
        payload=from_json(row.payload),
        state=row.state,
        attempts=row.attempts,
        error=row.error,
    )
