"""The outbox: scores on their way to the sinks.

A row is ``pending`` until its sink has accepted the score. A sink that can be asked afterwards also confirms
it: ``confirmed`` says that the same value and comment were read back. One that is accepted and then cannot be
read back is pending again, and ``dead`` when that goes on; so is one that the sink refuses for good.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

from sqlalchemy import BigInteger, Connection, Text, column, func, or_, select, table, update

from tracehooks.protocols import Delivery, ReadBack, Receipt
from tracehooks.records import AgentCall
from tracehooks.store.among import among
from tracehooks.store.calls import read_calls
from tracehooks.store.database import Area, Database
from tracehooks.store.encoding import (
    duration_micros,
    from_micros,
    safe_text,
    to_micros,
)
from tracehooks.store.outcomes import Counters, looked_for, sent
from tracehooks.store.score_table import SCORES, kept_call, score_of
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
    column("checks", BigInteger),  # how often it was looked for in vain since it was accepted
    column("resent", BigInteger),  # how often it was accepted and yet not to be found
)
KEY = ("sink", "score_id")

Claimable = Literal["pending", "accepted"]


class Outbox:
    """One row for each score and sink: pending, accepted, confirmed or dead."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database, self._clock = database, clock

    def pending(
        self, sink: str, limit: int, owner: str, lease: timedelta, *, calls: bool = True
    ) -> list[Delivery]:
        """Take at most ``limit`` deliveries that are due; no one else gets them before ``lease`` is over.

        Without ``calls`` they come without the scored calls, which is quicker.
        """
        return self._claim("pending", sink, limit, owner, lease, calls)

    def accepted(
        self, sink: str, limit: int, owner: str, lease: timedelta, *, calls: bool = True
    ) -> list[Delivery]:
        """The same of those that were accepted and are due to be looked for."""
        return self._claim("accepted", sink, limit, owner, lease, calls)

    def _claim(
        self, state: Claimable, sink: str, limit: int, owner: str, lease: timedelta, calls: bool
    ) -> list[Delivery]:
        now = to_micros(self._clock())
        due = (
            select(OUTBOX.c.sink, OUTBOX.c.score_id)
            .where(OUTBOX.c.sink == sink, OUTBOX.c.state == state, OUTBOX.c.next_attempt <= now)
            .order_by(OUTBOX.c.next_attempt, OUTBOX.c.score_id)
            .limit(limit)
            .cte("due")
        )
        statement = (
            update(OUTBOX)
            .where(*(OUTBOX.c[name] == due.c[name] for name in KEY))
            .values(owner=safe_text(owner), next_attempt=now + duration_micros(lease), updated_at=now)
            .returning(OUTBOX.c.score_id, OUTBOX.c.revision, OUTBOX.c.resent)
        )

        def work(connection: Connection) -> list[Delivery]:
            taken = {row.score_id: (row.revision, row.resent) for row in connection.execute(statement)}
            return _deliveries(connection, taken, calls)

        return self._database.write(Area.WORK, work)

    def settle(
        self,
        sink: str,
        receipts: Sequence[Receipt],
        deliveries: Sequence[Delivery],
        *,
        confirm_after: timedelta = timedelta(0),
    ) -> None:
        """Note what the sink said about ``deliveries``.

        Accepted, and due to be looked for after ``confirm_after``; or not, and due again after a growing
        pause, or as long as the sink asked for; or dead when trying again cannot help. A receipt for a
        revision that was replaced meanwhile changes nothing: the newer one is still pending.
        """
        after = duration_micros(confirm_after)
        said = {one.id: (one.accepted, one.error, one.retry, one.retry_after) for one in receipts}
        self._settle("pending", sink, said, deliveries, lambda one, row, now: sent(one, row, now, after))

    def settle_read_backs(
        self, sink: str, read_backs: Sequence[ReadBack], deliveries: Sequence[Delivery]
    ) -> None:
        """Note what was found of ``deliveries`` that had been accepted.

        Confirmed; or to be looked for again; or, looked for often enough, pending again, or in the end dead.
        """
        said = {one.id: (one.found, one.detail) for one in read_backs}
        self._settle(
            "accepted", sink, said, deliveries, lambda one, row, now: looked_for(one[0], one[1], row, now)
        )

    def _settle(
        self,
        state: Claimable,
        sink: str,
        said: Mapping[str, tuple[Any, ...]],
        deliveries: Sequence[Delivery],
        outcome: Callable[[Any, Any, int], dict[str, Any]],
    ) -> None:
        """Write what was ``said`` by id; most rows are alike, and those alike are written together."""
        now = to_micros(self._clock())
        revisions = {delivery.id: delivery.revision for delivery in deliveries}

        def work(connection: Connection) -> None:
            alike: dict[Any, list[str]] = {}
            for score_id, revision, *counters in _rows_in(connection, state, sink, list(revisions)):
                if revision == revisions[score_id] and score_id in said:
                    alike.setdefault((said[score_id], Counters(*counters)), []).append(score_id)
            for (one, counters), ids in alike.items():
                _set(connection, sink, ids, outcome(one, counters, now))

        self._database.write(Area.WORK, work)

    def owners(self, sink: str, state: Claimable) -> list[str]:
        """Who holds deliveries to ``sink`` in ``state`` now."""
        held = (OUTBOX.c.sink == sink, OUTBOX.c.state == state, OUTBOX.c.owner.is_not(None))
        query = select(OUTBOX.c.owner).where(*held).distinct()
        return list(self._database.read(lambda connection: connection.execute(query).scalars().all()))

    def release_owner(self, sink: str, state: Claimable, owner: str) -> int:
        """Make due what ``owner`` holds, who is no more; returns how many those were."""
        now = to_micros(self._clock())
        statement = (
            update(OUTBOX)
            .where(OUTBOX.c.sink == sink, OUTBOX.c.state == state, OUTBOX.c.owner == owner)
            .values(owner=None, next_attempt=now, updated_at=now)
            .returning(OUTBOX.c.score_id)
        )
        return self._database.write(Area.WORK, lambda connection: len(connection.execute(statement).all()))

    def revive(self, sink: str) -> int:
        """Make the dead deliveries of ``sink`` pending again, due now; returns how many those were."""
        now = to_micros(self._clock())
        fresh = {"state": "pending", "attempts": 0, "checks": 0, "resent": 0, "owner": None}
        statement = (
            update(OUTBOX)
            .where(OUTBOX.c.sink == sink, OUTBOX.c.state == "dead")
            .values(**fresh, next_attempt=now, updated_at=now)
            .returning(OUTBOX.c.score_id)
        )
        return self._database.write(Area.WORK, lambda connection: len(connection.execute(statement).all()))

    def hurry(self, sink: str) -> None:
        """Make what waits for its next attempt due now, but for what a sender is at."""
        now = to_micros(self._clock())
        waiting = (OUTBOX.c.state == "pending", OUTBOX.c.owner.is_(None), OUTBOX.c.next_attempt > now)
        statement = update(OUTBOX).where(OUTBOX.c.sink == sink, *waiting).values(next_attempt=now)
        self._database.write(Area.WORK, lambda connection: connection.execute(statement))

    def wait(self, sink: str, state: Claimable) -> float | None:
        """Seconds until the next delivery in ``state`` is due, or its sender's lease over; None for none."""
        query = select(func.min(OUTBOX.c.next_attempt)).where(OUTBOX.c.sink == sink, OUTBOX.c.state == state)
        due = self._database.read(lambda connection: connection.execute(query).scalar())
        return None if due is None else max(0.0, (due - to_micros(self._clock())) / 1e6)

    def troubles(self, limit: int = 5) -> list[tuple[str, str, str, int]]:
        """What sinks said about what is dead or waits: (sink, state, error, how many), the most first."""
        columns = (OUTBOX.c.sink, OUTBOX.c.state, OUTBOX.c.error)
        query = (
            select(*columns, func.count().label("n"))
            .where(OUTBOX.c.error.is_not(None))
            .group_by(*columns)
            .order_by(func.count().desc(), *columns)
            .limit(limit)
        )
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return [(row.sink, row.state, row.error, row.n) for row in rows]

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


def enqueue(connection: Connection, sink: str, revisions: Mapping[str, int], now: int) -> None:
    """Put scores, given as {id: revision}, up for delivery to ``sink``. A newer revision takes over."""
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
            "checks": 0,
            "resent": 0,
        }
        for score_id, revision in sorted(revisions.items())
    ]
    upsert(connection, OUTBOX, KEY, rows)


def _deliveries(
    connection: Connection, taken: Mapping[str, tuple[int, int]], with_calls: bool
) -> list[Delivery]:
    """The deliveries of scores given as {id: (revision, how often resent)}, by the calls' start."""
    query = select(SCORES).where(among(connection, SCORES.c.id, list(taken)))
    rows = connection.execute(query.order_by(SCORES.c.call_start, SCORES.c.id)).mappings().all()
    if not with_calls:
        return [_delivery(row, None, *taken[row["id"]]) for row in rows]
    calls = read_calls(connection, [(row["trace_id"], row["span_id"]) for row in rows])
    return [
        _delivery(row, calls.get((row["trace_id"], row["span_id"])) or kept_call(row), *taken[row["id"]])
        for row in rows
    ]


def _delivery(row: Any, call: AgentCall | None, revision: int, resent: int) -> Delivery:
    return Delivery(
        id=row["id"],
        score=score_of(row),
        call=call,
        time=from_micros(row["call_start"]),
        environment=row["environment"],
        revision=revision,
        resent=resent,
        scorer_version=row["scorer_version"],
        run_id=row["run_id"],
        probability=row["probability"],
        scored_at=from_micros(row["scored_at"]),
    )


def _rows_in(connection: Connection, state: Claimable, sink: str, ids: Sequence[str]) -> Sequence[Any]:
    columns = (OUTBOX.c.score_id, OUTBOX.c.revision, OUTBOX.c.attempts, OUTBOX.c.checks, OUTBOX.c.resent)
    theirs = among(connection, OUTBOX.c.score_id, ids)
    return connection.execute(
        select(*columns).where(OUTBOX.c.sink == sink, OUTBOX.c.state == state, theirs)
    ).all()


def _set(connection: Connection, sink: str, ids: Sequence[str], values: dict[str, Any]) -> None:
    theirs = among(connection, OUTBOX.c.score_id, ids)
    connection.execute(update(OUTBOX).where(OUTBOX.c.sink == sink, theirs).values(values))
