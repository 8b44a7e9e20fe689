"""The table of spans that backends have not got, how many of them there are, and how many were given up."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import BigInteger, Connection, Text, column, func, select, table

from tracehooks.store.encoding import from_micros
from tracehooks.store.upserts import upsert

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
WAITING, DEAD = "waiting", "dead"
GRACE = timedelta(minutes=1)  # that a living process has even when somebody hurries


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


def count_given_up(connection: Connection, backend: str, why: str, spans: int) -> None:
    """Add ``spans`` to what was given up for ``backend`` and for that reason."""
    if spans <= 0:
        return
    here = (GIVEN_UP.c.backend == backend, GIVEN_UP.c.why == why)
    before = connection.scalar(select(GIVEN_UP.c.spans).where(*here)) or 0
    upsert(
        connection, GIVEN_UP, ("backend", "why"), [{"backend": backend, "why": why, "spans": before + spans}]
    )


def unsent_counts(connection: Connection, fresh: int) -> dict[str, UnsentCounts]:
    """The counts by backend. What was stored after ``fresh``, in microseconds, counts as just stored."""
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
