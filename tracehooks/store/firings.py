"""Stored firings: when a job was due, and what came of it. One for each job and slot, whoever fires it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import BigInteger, Connection, Text, column, delete, select, table, update

from tracehooks.store.database import Area, Database
from tracehooks.store.encoding import from_micros, optional_text, safe_text, to_micros
from tracehooks.store.upserts import insert_missing

FiringState = Literal["open", "done", "missed"]

FIRINGS = table(
    "firings",
    column("job", Text),
    column("slot", Text),
    column("due", BigInteger),
    column("state", Text),
    column("window_start", BigInteger),
    column("window_end", BigInteger),
    column("run_id", Text),
    column("noted_at", BigInteger),
    column("note", Text),
)
KEY = ("job", "slot")


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing:
    """One time at which a job was due.

    ``slot`` is the local wall time that it stands for, which comes once even where clocks go back. ``open``
    is a firing that is to be seen to its end, ``done`` one that was, ``missed`` one that nobody acted upon in
    time. ``window`` is what the run covers, the same for all who work on it; None for one without. ``note``
    is for people. ``noted_at`` is when it came to be known.
    """

    job: str
    slot: str
    due: datetime
    state: FiringState = "open"
    window: tuple[datetime, datetime] | None = None
    run_id: str | None = None
    noted_at: datetime
    note: str = ""

    @property
    def late(self) -> float:
        """How many seconds after it was due somebody acted upon it."""
        return max(0.0, (self.noted_at - self.due).total_seconds())


class Firings:
    """The firings of all jobs."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database, self._clock = database, clock

    def note(self, firings: Sequence[Firing]) -> list[Firing]:
        """Keep ``firings``; those whose slots are known already stay as they are. Returns them as stored."""
        rows = [_row(firing) for firing in firings]

        def work(connection: Connection) -> list[Any]:
            insert_missing(connection, FIRINGS, KEY, rows)
            found = []
            for firing in firings:
                query = select(FIRINGS).where(FIRINGS.c.job == firing.job, FIRINGS.c.slot == firing.slot)
                found.append(connection.execute(query).one())
            return found

        return [_firing(row) for row in self._database.write(Area.WORK, work)]

    def close(self, firing: Firing, state: FiringState, *, run_id: str | None = None, note: str = "") -> None:
        """Say what came of ``firing``; who comes later changes nothing."""
        statement = update(FIRINGS).where(
            FIRINGS.c.job == firing.job, FIRINGS.c.slot == firing.slot, FIRINGS.c.state == "open"
        )
        values: dict[str, Any] = {"state": state, "note": safe_text(note or firing.note)}
        if run_id is not None:
            values["run_id"] = run_id
        self._database.write(Area.WORK, lambda connection: connection.execute(statement.values(values)))

    def forget_noted_after(self, job: str, moment: datetime) -> None:
        """Forget what a clock that was ahead has noted."""
        wrong = FIRINGS.c.noted_at > to_micros(moment)
        statement = delete(FIRINGS).where(FIRINGS.c.job == job, wrong)
        self._database.write(Area.WORK, lambda connection: connection.execute(statement))

    def latest(self, job: str) -> Firing | None:
        """The one that was due last."""
        return next(iter(self.list(job, limit=1)), None)

    def list(self, job: str, limit: int = 20) -> Sequence[Firing]:
        """The last firings of ``job``, newest first."""
        query = select(FIRINGS).where(FIRINGS.c.job == job)
        query = query.order_by(FIRINGS.c.due.desc(), FIRINGS.c.slot.desc()).limit(limit)
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return [_firing(row) for row in rows]


def _row(firing: Firing) -> dict[str, Any]:
    start, end = firing.window or (None, None)
    return {
        "job": safe_text(firing.job),
        "slot": safe_text(firing.slot),
        "due": to_micros(firing.due),
        "state": firing.state,
        "window_start": None if start is None else to_micros(start),
        "window_end": None if end is None else to_micros(end),
        "run_id": optional_text(firing.run_id),
        "noted_at": to_micros(firing.noted_at),
        "note": safe_text(firing.note),
    }


def _firing(row: Any) -> Firing:
    window = None
    if row.window_start is not None and row.window_end is not None:
        window = from_micros(row.window_start), from_micros(row.window_end)
    return Firing(
        job=row.job,
        slot=row.slot,
        due=from_micros(row.due),
        state=row.state,
        window=window,
        run_id=row.run_id,
        noted_at=from_micros(row.noted_at),
        note=row.note,
    )
