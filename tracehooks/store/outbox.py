"""The outbox: scores on their way to the sinks."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, Connection, Text, column, func, or_, select, table, update

from tracehooks.protocols import Delivery, Receipt
from tracehooks.store.calls import read_calls
from tracehooks.store.database import Area, Database
from tracehooks.store.encoding import (
    chunks,
    duration_micros,
    from_micros,
    optional_text,
    safe_text,
    to_micros,
)
from tracehooks.store.score_table import SCORES, kept_call, stored_score
from tracehooks.store.upserts import upsert

OUTBOX = table(
    "outbox",
    column("sink", Text),
    column("score_id", Text),
    column("revision", BigInteger),
    column("state", Text),
    column("attempts", BigInteger),
    column("next_attempt", BigInteger),  # also the end of the lease while a sender has it
    column("owner", Text),
    column("error", Text),
    column("updated_at", BigInteger),
)
KEY = ("sink", "score_id")
FIRST_PAUSE = timedelta(seconds=5)
LONGEST_PAUSE = timedelta(minutes=10)
IDS_AT_ONCE = 500


class Outbox:
    """One row for each score and sink: pending, accepted, confirmed or dead."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database, self._clock = database, clock

    def pending(self, sink: str, limit: int, owner: str, lease: timedelta) -> list[Delivery]:
        """Take at most ``limit`` deliveries that are due; no one else gets them before ``lease`` is over."""
        now = to_micros(self._clock())
        due = (
            select(OUTBOX.c.sink, OUTBOX.c.score_id)
            .where(OUTBOX.c.sink == sink, OUTBOX.c.state == "pending", OUTBOX.c.next_attempt <= now)
            .order_by(OUTBOX.c.next_attempt, OUTBOX.c.score_id)
            .limit(limit)
            .cte("due")
        )
        statement = (
            update(OUTBOX)
            .where(*(OUTBOX.c[name] == due.c[name] for name in KEY))
            .values(owner=safe_text(owner), next_attempt=now + duration_micros(lease), updated_at=now)
            .returning(OUTBOX.c.score_id, OUTBOX.c.revision)
        )

        def work(connection: Connection) -> list[Delivery]:
            taken = {row.score_id: row.revision for row in connection.execute(statement)}
            return _deliveries(connection, taken)

        return self._database.write(Area.WORK, work)

    def settle(self, sink: str, receipts: Sequence[Receipt], deliveries: Sequence[Delivery]) -> None:
        """Note what the sink said about ``deliveries``.

        Accepted; or not, and due again after a growing pause; or dead when trying again cannot help. A
        receipt for a revision that was replaced meanwhile changes nothing: the newer one is still pending.
        """
        now = to_micros(self._clock())
        revisions = {delivery.id: delivery.revision for delivery in deliveries}

        def work(connection: Connection) -> None:
            rows = _pending_rows(connection, sink, list(revisions))
            said = {receipt.id: receipt for receipt in receipts}
            outcomes: dict[tuple[Any, ...], list[str]] = {}
            for score_id, row in rows.items():
                if row.revision == revisions[score_id] and score_id in said:
                    outcome = tuple(_outcome(said[score_id], row.attempts + 1, now).items())
                    outcomes.setdefault(outcome, []).append(score_id)
            for outcome, ids in outcomes.items():
                _set(connection, sink, ids, dict(outcome))

        self._database.write(Area.WORK, work)

    def waiting(self, sink: str, owner: str) -> int:
        """How many deliveries to ``sink`` are pending, but for those that others than ``owner`` are at."""
        now = to_micros(self._clock())
        free = or_(OUTBOX.c.owner.is_(None), OUTBOX.c.owner == owner, OUTBOX.c.next_attempt <= now)
        query = (
            select(func.count())
            .select_from(OUTBOX)
            .where(OUTBOX.c.sink == sink, OUTBOX.c.state == "pending", free)
        )
        return int(self._database.read(lambda connection: connection.execute(query).scalar_one()))

    def counts(self) -> dict[str, dict[str, int]]:
        """How many rows each sink has in which state."""
        columns = (OUTBOX.c.sink, OUTBOX.c.state)
        query = select(*columns, func.count()).group_by(*columns).order_by(*columns)
        found: dict[str, dict[str, int]] = {}
        for sink, state, n in self._database.read(lambda connection: connection.execute(query).all()):
            found.setdefault(sink, {})[state] = n
        return found


def enqueue(connection: Connection, sinks: Sequence[str], revisions: Mapping[str, int], now: int) -> None:
    """Put scores, given as {id: revision}, up for delivery to every sink. A newer revision takes over."""
    rows = [
        {
            "sink": sink,
            "score_id": score_id,
            "revision": revision,
            "state": "pending",
            "attempts": 0,
            "next_attempt": now,
            "owner": None,
            "error": None,
            "updated_at": now,
        }
        for sink in dict.fromkeys(sinks)
        for score_id, revision in sorted(revisions.items())
    ]
    upsert(connection, OUTBOX, KEY, rows)


def _deliveries(connection: Connection, revisions: Mapping[str, int]) -> list[Delivery]:
    rows = [
        dict(row)
        for chunk in chunks(sorted(revisions), IDS_AT_ONCE)
        for row in connection.execute(select(SCORES).where(SCORES.c.id.in_(chunk))).mappings()
    ]
    calls = read_calls(connection, [(row["trace_id"], row["span_id"]) for row in rows])
    return [
        Delivery(
            id=row["id"],
            score=stored_score(row).score,
            call=calls.get((row["trace_id"], row["span_id"])) or kept_call(row),
            time=from_micros(row["call_start"]),
            environment=row["environment"],
            revision=revisions[row["id"]],
        )
        for row in sorted(rows, key=lambda row: (row["call_start"], row["id"]))
    ]


def _pending_rows(connection: Connection, sink: str, ids: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for chunk in chunks(ids, IDS_AT_ONCE):
        query = select(OUTBOX).where(
            OUTBOX.c.sink == sink, OUTBOX.c.score_id.in_(chunk), OUTBOX.c.state == "pending"
        )
        found |= {row.score_id: row for row in connection.execute(query)}
    return found


def _outcome(receipt: Receipt, attempts: int, now: int) -> dict[str, Any]:
    """What a receipt, the one for the attempt of this number, makes of its row."""
    values: dict[str, Any] = {"attempts": attempts, "owner": None, "updated_at": now, "error": None}
    if receipt.accepted:
        return values | {"state": "accepted"}
    values["error"] = optional_text(receipt.error)
    if not receipt.retry:
        return values | {"state": "dead"}
    return values | {"next_attempt": now + duration_micros(pause_after(attempts))}


def _set(connection: Connection, sink: str, ids: Sequence[str], values: dict[str, Any]) -> None:
    for chunk in chunks(ids, IDS_AT_ONCE):
        statement = update(OUTBOX).where(OUTBOX.c.sink == sink, OUTBOX.c.score_id.in_(chunk))
        connection.execute(statement.values(values))


def pause_after(attempts: int) -> timedelta:
    """How long to wait after so many failed attempts: 5 s, twice as long each time, at most 10 minutes."""
    doublings = min(attempts - 1, 20)
    return min(FIRST_PAUSE * (1 << doublings), LONGEST_PAUSE)
