"""Spans that a backend has not taken yet: known from the moment they are stored until it took them.

A row is written in the transaction that stores its span and deleted once the backend has the span, so what a
killed process held is known. While a process tries to send a span itself the row is not ``due``; then anybody
may claim it and send the span from the store. One that the backend refuses again and again is ``dead``. What
is given up, because too much waits or its span is no longer in the store, is counted.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, delete, func, or_, select, update

from tracehooks.store.among import among
from tracehooks.store.database import Area, Database
from tracehooks.store.encoding import duration_micros, from_json, safe_text, to_json, to_micros
from tracehooks.store.unsent_table import (
    DEAD,
    GRACE,
    UNSENT,
    WAITING,
    UnsentCounts,
    count_given_up,
    unsent_counts,
)
from tracehooks.store.upserts import insert_missing

PLACE = ("trace_id", "span_id")
KEY = (*PLACE, "backend")
HELD = timedelta(minutes=10)  # that a living process may take to send a span itself
REFUSALS = 5  # of one span, before it is dead
PAUSE = timedelta(seconds=5)  # before the next try when a backend takes nothing
REFUSED_PAUSE = timedelta(seconds=30)  # of one span, twice as long each time
MOST = 1_000_000  # spans that may wait for one backend
TOO_MANY = "too many waited"
PRUNED = "no longer in the store"

Place = tuple[str, str]  # trace id, span id


@dataclass(frozen=True, slots=True)
class Unsent:
    """One span that waits; ``rest`` is what the stored span lacks."""

    backend: str
    trace_id: str
    span_id: str
    rest: Mapping[str, Any] = field(default_factory=dict)

    @property
    def place(self) -> Place:
        """Trace id and span id."""
        return self.trace_id, self.span_id


class UnsentSpans:
    """The spans on their way to the backends that may get a span twice."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database, self._clock = database, clock

    def taken(self, backend: str, places: Sequence[Place]) -> set[Place]:
        """Note that ``backend`` has these spans. Returns those of them that were waiting."""

        def work(connection: Connection) -> set[Place]:
            statement = delete(UNSENT).where(*_these(connection, backend, places))
            return _places(connection.execute(statement.returning(UNSENT.c.trace_id, UNSENT.c.span_id)))

        return self._database.write(Area.SPANS, work) if places else set()

    def claim(
        self, backend: str, owner: str, lease: timedelta, limit: int, *, after: str = ""
    ) -> list[Unsent]:
        """What is due of the traces that the first ``limit`` spans that are due belong to, by trace.

        A trace is never divided: whoever sends its spans reads all of it. No one else gets them before
        ``lease`` is over. ``after`` is the last trace of the claim before.
        """
        now = to_micros(self._clock())
        due = (UNSENT.c.backend == backend, UNSENT.c.state == WAITING, UNSENT.c.due <= now)
        first = (
            select(UNSENT.c.trace_id)
            .where(*due, UNSENT.c.trace_id > after)
            .order_by(UNSENT.c.trace_id, UNSENT.c.span_id)
            .limit(limit)
        )
        statement = (
            update(UNSENT)
            .where(*due, UNSENT.c.trace_id.in_(first))
            .values(owner=safe_text(owner), due=now + duration_micros(lease))
            .returning(UNSENT.c.trace_id, UNSENT.c.span_id, UNSENT.c.rest)
        )
        rows = self._database.write(Area.SPANS, lambda connection: connection.execute(statement).all())
        claimed = [
            Unsent(backend, row.trace_id, row.span_id, from_json(row.rest) if row.rest else {})
            for row in rows
        ]
        return sorted(claimed, key=lambda one: one.place)

    def put_back(self, backend: str, places: Sequence[Place], error: str, pause: timedelta = PAUSE) -> None:
        """Note that these could not be sent for now, and why; they are due again after ``pause``."""
        values = {"owner": None, "error": safe_text(error), "due": self._now() + duration_micros(pause)}
        self._set(backend, places, values)

    def refused(self, backend: str, places: Mapping[Place, str]) -> int:
        """Note that the backend took others but not these, with its words. Returns how many are dead now."""
        now = self._now()

        def work(connection: Connection) -> int:
            count = 0
            for place, words in places.items():
                query = select(UNSENT.c.attempts).where(*_these(connection, backend, [place]))
                attempts = (connection.scalar(query) or 0) + 1
                state = DEAD if attempts >= REFUSALS else WAITING
                due = now + duration_micros(REFUSED_PAUSE) * 2 ** (attempts - 1)
                values = {"attempts": attempts, "state": state, "due": due, "error": safe_text(words)}
                _update(connection, backend, [place], {**values, "owner": None})
                count += state == DEAD
            return count

        return self._database.write(Area.SPANS, work) if places else 0

    def give_up(self, backend: str, places: Sequence[Place], why: str) -> None:
        """Forget these, and count them."""

        def work(connection: Connection) -> None:
            gone = connection.execute(delete(UNSENT).where(*_these(connection, backend, places))).rowcount
            count_given_up(connection, backend, why, gone)

        if places:
            self._database.write(Area.SPANS, work)

    def trim(self, backend: str, most: int = MOST) -> int:
        """Give up the oldest where more than ``most`` wait. Returns how many those were."""
        theirs = UNSENT.c.backend == backend
        beyond = select(UNSENT.c.since).where(theirs).order_by(UNSENT.c.since.desc()).offset(most).limit(1)
        counting = select(func.count()).select_from(UNSENT).where(theirs)

        def work(connection: Connection) -> int:
            if (connection.scalar(counting) or 0) <= most:
                return 0
            last = connection.scalar(beyond)
            gone = connection.execute(delete(UNSENT).where(theirs, UNSENT.c.since <= last)).rowcount
            count_given_up(connection, backend, TOO_MANY, gone)
            return gone

        return self._database.write(Area.SPANS, work)

    def owners(self, backend: str) -> list[str]:
        """Who holds spans for ``backend`` now."""
        query = select(UNSENT.c.owner).where(UNSENT.c.backend == backend, UNSENT.c.owner.is_not(None))
        return list(self._database.read(lambda connection: connection.execute(query.distinct()).scalars()))

    def release_owner(self, backend: str, owner: str) -> int:
        """Make due what ``owner`` holds, who is no more; returns how many those were."""
        held = (UNSENT.c.backend == backend, UNSENT.c.owner == owner, UNSENT.c.state == WAITING)
        statement = update(UNSENT).where(*held).values(owner=None, due=self._now())
        return self._database.write(Area.SPANS, lambda connection: connection.execute(statement).rowcount)

    def hurry(self, backend: str) -> None:
        """Make due what waits, but for what a living process began to send a moment ago."""
        now = self._now()
        free = or_(UNSENT.c.owner.is_(None), UNSENT.c.since <= now - duration_micros(GRACE))
        waiting = (UNSENT.c.backend == backend, UNSENT.c.state == WAITING, UNSENT.c.due > now)
        statement = update(UNSENT).where(*waiting, free).values(due=now)
        self._database.write(Area.SPANS, lambda connection: connection.execute(statement))

    def revive(self, backend: str) -> int:
        """Make the dead ones wait again, due now; returns how many those were."""
        dead = (UNSENT.c.backend == backend, UNSENT.c.state == DEAD)
        fresh = {"state": WAITING, "attempts": 0, "owner": None, "due": self._now()}
        statement = update(UNSENT).where(*dead).values(**fresh)
        return self._database.write(Area.SPANS, lambda connection: connection.execute(statement).rowcount)

    def wait(self, backend: str, *, free: bool = False) -> float | None:
        """Seconds until the next one is due; None when none waits. ``free``: of those no process is at."""
        query = select(func.min(UNSENT.c.due)).where(UNSENT.c.backend == backend, UNSENT.c.state == WAITING)
        if free:
            query = query.where(or_(UNSENT.c.owner.is_(None), UNSENT.c.due <= self._now()))
        due = self._database.read(lambda connection: connection.scalar(query))
        return None if due is None else max(0.0, (due - self._now()) / 1e6)

    def counts(self) -> dict[str, UnsentCounts]:
        """The counts of each backend that something waits for, or was given up for."""
        fresh = self._now() - duration_micros(GRACE)
        return self._database.read(lambda connection: unsent_counts(connection, fresh))

    def _now(self) -> int:
        return to_micros(self._clock())

    def _set(self, backend: str, places: Sequence[Place], values: Mapping[str, Any]) -> None:
        if places:
            self._database.write(Area.SPANS, lambda connection: _update(connection, backend, places, values))


def note(connection: Connection, spans: Iterable[Unsent], owner: str, now: int) -> None:
    """Write that ``spans`` wait, held by the process ``owner``, in the transaction that stores them."""
    rows = [
        {
            "backend": span.backend,
            "trace_id": safe_text(span.trace_id),
            "span_id": safe_text(span.span_id),
            "state": WAITING,
            "since": now,
            "due": now + duration_micros(HELD),
            "owner": safe_text(owner),
            "attempts": 0,
            "error": None,
            "rest": to_json(span.rest) if span.rest else None,
        }
        for span in spans
    ]
    insert_missing(connection, UNSENT, KEY, rows)


def forget_traces(connection: Connection, traces: Sequence[str]) -> None:
    """Give up what waits of ``traces``, which are deleted."""
    theirs = among(connection, UNSENT.c.trace_id, traces)
    query = select(UNSENT.c.backend, func.count().label("n")).where(theirs).group_by(UNSENT.c.backend)
    for row in connection.execute(query).all():
        count_given_up(connection, row.backend, PRUNED, row.n)
    connection.execute(delete(UNSENT).where(theirs))


def _these(connection: Connection, backend: str, places: Sequence[Place]) -> tuple[Any, ...]:
    """The rows of ``places``: found by their traces, and told apart by both ids."""
    traces = sorted({trace_id for trace_id, _ in places})
    both = [trace_id + span_id for trace_id, span_id in places]
    return (
        UNSENT.c.backend == backend,
        among(connection, UNSENT.c.trace_id, traces),
        among(connection, UNSENT.c.trace_id + UNSENT.c.span_id, both),
    )


def _update(connection: Connection, backend: str, places: Sequence[Place], values: Mapping[str, Any]) -> None:
    connection.execute(update(UNSENT).where(*_these(connection, backend, places)).values(**values))


def _places(rows: Iterable[Any]) -> set[Place]:
    return {(row.trace_id, row.span_id) for row in rows}
