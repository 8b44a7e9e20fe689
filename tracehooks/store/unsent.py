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

from sqlalchemy import BigInteger, Connection, Text, column, delete, func, or_, select, table, tuple_, update

from tracehooks.store.among import among
from tracehooks.store.database import Area, Database
from tracehooks.store.encoding import duration_micros, from_json, from_micros, safe_text, to_json, to_micros
from tracehooks.store.upserts import insert_missing, upsert

UNSENT = table(
    "unsent",
    column("backend", Text),
    column("trace_id", Text),
    column("span_id", Text),
    column("state", Text),  # waiting or dead
    column("since", BigInteger),
    column("due", BigInteger),  # also the end of the lease while a process has it
    column("owner", Text),
    column("attempts", BigInteger),  # how often the backend refused this span by itself
    column("error", Text),
    column("rest", Text),  # what the stored span lacks, as JSON
)
GIVEN_UP = table("unsent_given_up", column("backend", Text), column("why", Text), column("spans", BigInteger))
PLACE = ("trace_id", "span_id")
KEY = (*PLACE, "backend")
WAITING, DEAD = "waiting", "dead"

HELD = timedelta(minutes=10)  # that a living process may take to send a span itself
GRACE = timedelta(minutes=1)  # that it gets even when somebody hurries
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


@dataclass(frozen=True, slots=True)
class UnsentCounts:
    """What one backend has not got: how many wait, since when the oldest does, are dead, were given up.

    ``held`` are those of the waiting that a process stored within the last minute, by that process: as long
    as it lives, they are simply on their way.
    """

    waiting: int = 0
    oldest: datetime | None = None
    dead: int = 0
    given_up: Mapping[str, int] = field(default_factory=dict)
    held: Mapping[str, int] = field(default_factory=dict)  # by processes that had them stored just now
    error: str | None = None  # what the backend said last


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
        self, backend: str, owner: str, lease: timedelta, limit: int, *, after: Place = ("", "")
    ) -> list[Unsent]:
        """At most ``limit`` spans that are due, by trace; no one else gets them before ``lease`` is over.

        ``after`` is the place of the last one of the claim before.
        """
        now = to_micros(self._clock())
        due = (
            select(*(UNSENT.c[name] for name in KEY))
            .where(UNSENT.c.backend == backend, tuple_(UNSENT.c.trace_id, UNSENT.c.span_id) > after)
            .where(UNSENT.c.state == WAITING, UNSENT.c.due <= now)
            .order_by(UNSENT.c.trace_id, UNSENT.c.span_id)
            .limit(limit)
            .cte("due")
        )
        statement = (
            update(UNSENT)
            .where(*(UNSENT.c[name] == due.c[name] for name in KEY))
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
            _count(connection, backend, why, gone)

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
            _count(connection, backend, TOO_MANY, gone)
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
        return self._database.read(lambda connection: _counts(connection, fresh))

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
        _count(connection, row.backend, PRUNED, row.n)
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


def _count(connection: Connection, backend: str, why: str, spans: int) -> None:
    if spans <= 0:
        return
    here = (GIVEN_UP.c.backend == backend, GIVEN_UP.c.why == why)
    before = connection.scalar(select(GIVEN_UP.c.spans).where(*here)) or 0
    upsert(
        connection, GIVEN_UP, ("backend", "why"), [{"backend": backend, "why": why, "spans": before + spans}]
    )


def _counts(connection: Connection, fresh: int) -> dict[str, UnsentCounts]:
    columns = (UNSENT.c.backend, UNSENT.c.state)
    numbers = (func.count().label("n"), func.min(UNSENT.c.since).label("oldest"))
    query = select(*columns, *numbers, func.max(UNSENT.c.error).label("error")).group_by(*columns)
    states = {(row.backend, row.state): row for row in connection.execute(query)}
    given_up: dict[str, dict[str, int]] = {}
    for row in connection.execute(select(GIVEN_UP)):
        given_up.setdefault(row.backend, {})[row.why] = row.spans
    theirs = (UNSENT.c.backend, UNSENT.c.owner)
    held: dict[str, dict[str, int]] = {}
    young = select(*theirs, func.count().label("n")).where(UNSENT.c.owner.is_not(None))
    for row in connection.execute(young.where(UNSENT.c.since > fresh).group_by(*theirs)):
        held.setdefault(row.backend, {})[row.owner] = row.n
    found = {}
    for backend in sorted({backend for backend, _ in states} | set(given_up)):
        waiting, dead = states.get((backend, WAITING)), states.get((backend, DEAD))
        found[backend] = UnsentCounts(
            waiting=waiting.n if waiting else 0,
            oldest=from_micros(waiting.oldest) if waiting else None,
            dead=dead.n if dead else 0,
            given_up=given_up.get(backend, {}),
            held=held.get(backend, {}),
            error=next((row.error for row in (dead, waiting) if row and row.error), None),
        )
    return found
