"""The outbox: scores on their way to the sinks.

A row is ``pending`` until its sink has accepted the score. A sink that can be asked afterwards also confirms
it: ``confirmed`` says that the same value and comment were read back. One that is accepted and then cannot be
read back is pending again, and ``dead`` when that goes on; so is one that the sink refuses for good.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, TypeVar

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Text,
    bindparam,
    column,
    func,
    or_,
    select,
    table,
    update,
)

from tracehooks.protocols import Delivery, ReadBack, Receipt, ScoreRow
from tracehooks.store.among import among
from tracehooks.store.database import Area, Database
from tracehooks.store.deliveries import Reader, read_deliveries, read_rows
from tracehooks.store.encoding import duration_micros, safe_text, to_micros
from tracehooks.store.outcomes import Counters, accepted, confirmed, not_found, refused
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
COUNTED = [OUTBOX.c[name] for name in ("score_id", *Counters._fields)]
DUE = (
    select(OUTBOX.c.sink, OUTBOX.c.score_id)
    .where(
        OUTBOX.c.sink == bindparam("of_sink"),
        OUTBOX.c.state == bindparam("in_state"),
        OUTBOX.c.next_attempt <= bindparam("now"),
    )
    .order_by(OUTBOX.c.next_attempt)
    .limit(bindparam("most"))
    .cte("due")
)
CLAIM = (
    update(OUTBOX)
    .where(*(OUTBOX.c[name] == DUE.c[name] for name in KEY))
    .values(owner=bindparam("by"), next_attempt=bindparam("until"), updated_at=bindparam("now"))
    .returning(OUTBOX.c.score_id, OUTBOX.c.revision, OUTBOX.c.resent)
)

Claimable = Literal["pending", "accepted"]
T = TypeVar("T")


class Outbox:
    """One row for each score and sink: pending, accepted, confirmed or dead."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database, self._clock = database, clock

    def pending(self, sink: str, limit: int, owner: str, lease: timedelta) -> list[Delivery]:
        """Take at most ``limit`` deliveries that are due; no one else gets them before ``lease`` is over."""
        return self._take("pending", sink, limit, owner, lease, read_deliveries)

    def accepted(self, sink: str, limit: int, owner: str, lease: timedelta) -> list[Delivery]:
        """The same of those that were accepted and are due to be looked for."""
        return self._take("accepted", sink, limit, owner, lease, read_deliveries)

    def rows(self, state: Claimable, sink: str, limit: int, owner: str, lease: timedelta) -> list[ScoreRow]:
        """The same of either state, flat and without the scored calls, which is much quicker."""
        return self._take(state, sink, limit, owner, lease, read_rows)

    def _take(
        self, state: Claimable, sink: str, limit: int, owner: str, lease: timedelta, read: Reader[T]
    ) -> list[T]:
        now = to_micros(self._clock())
        given = {"of_sink": sink, "in_state": state, "now": now, "most": limit}
        given |= {"by": safe_text(owner), "until": now + duration_micros(lease)}

        def work(connection: Connection) -> list[T]:
            taken = {row[0]: (row[1], row[2]) for row in connection.execute(CLAIM, given).all()}
            return read(connection, taken)

        return self._database.write(Area.WORK, work)

    def settle(
        self,
        sink: str,
        receipts: Sequence[Receipt],
        deliveries: Sequence[Delivery | ScoreRow],
        *,
        confirm_after: timedelta = timedelta(0),
    ) -> None:
        """Note what the sink said about ``deliveries``.

        Accepted, and due to be looked for after ``confirm_after``; or not, and due again after a growing
        pause, or as long as the sink asked for; or dead when trying again cannot help. A receipt for a
        revision that was replaced meanwhile changes nothing: the newer one is still pending.
        """
        now = to_micros(self._clock())
        well = accepted(now, duration_micros(confirm_after)) | {"attempts": OUTBOX.c.attempts + 1}
        went_well = [one.id for one in receipts if one.accepted]
        said = {one.id: (one.error, one.retry, one.retry_after) for one in receipts if not one.accepted}
        part = Part(sink, "pending", {one.id: one.revision for one in deliveries})
        self._settle(part, went_well, well, said, lambda one, row: refused(one, row, now))

    def settle_read_backs(
        self, sink: str, read_backs: Sequence[ReadBack], deliveries: Sequence[Delivery | ScoreRow]
    ) -> None:
        """Note what was found of ``deliveries`` that had been accepted.

        Confirmed; or to be looked for again; or, looked for often enough, pending again, or in the end dead.
        """
        now = to_micros(self._clock())
        same = [one.id for one in read_backs if one.found == "same"]
        said = {one.id: (one.found, one.detail) for one in read_backs if one.found != "same"}
        part = Part(sink, "accepted", {one.id: one.revision for one in deliveries})
        self._settle(part, same, confirmed(now), said, lambda one, row: not_found(one, row, now))

    def _settle(
        self,
        part: "Part",
        went_well: Sequence[str],
        well: Mapping[str, Any],
        said: Mapping[str, tuple[Any, ...]],
        outcome: Callable[[Any, Counters], dict[str, Any]],
    ) -> None:
        """Write ``well`` to all that ``went_well``.

        What is written to the others depends on what was ``said`` of each, by id, and on its counters.
        """

        def work(connection: Connection) -> None:
            part.write(connection, went_well, well)
            alike: dict[Any, list[str]] = {}
            for score_id, counters in part.counters(connection, list(said)):
                alike.setdefault((said[score_id], counters), []).append(score_id)
            for (one, counters), ids in alike.items():
                part.write(connection, ids, outcome(one, counters))

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


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of one sink in one state, given as {id: revision}; what is of another revision by now is not."""

    sink: str
    state: Claimable
    revisions: Mapping[str, int]

    def write(self, connection: Connection, ids: Iterable[str], values: Mapping[str, Any]) -> None:
        """Write the same ``values`` to all of these ids."""
        for rows in self._rows(connection, ids):
            connection.execute(update(OUTBOX).where(*rows).values(**values))

    def counters(self, connection: Connection, ids: Iterable[str]) -> Iterator[tuple[str, Counters]]:
        """What the rows of these ids count."""
        for rows in self._rows(connection, ids):
            for score_id, *counted in connection.execute(select(*COUNTED).where(*rows)):
                yield score_id, Counters(*counted)

    def _rows(self, connection: Connection, ids: Iterable[str]) -> Iterator[list[ColumnElement[bool]]]:
        by_revision: dict[int, list[str]] = {}
        for score_id in ids:
            if (revision := self.revisions.get(score_id)) is not None:
                by_revision.setdefault(revision, []).append(score_id)
        for revision, theirs in by_revision.items():
            yield [
                OUTBOX.c.sink == self.sink,
                OUTBOX.c.state == self.state,
                OUTBOX.c.revision == revision,
                among(connection, OUTBOX.c.score_id, theirs),
            ]
