"""Stored runs: one record for each job and window."""

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, Connection, Text, and_, column, select, table, update

from tracehooks.errors import ConfigurationError
from tracehooks.records import Verdict
from tracehooks.store.database import Area, Database
from tracehooks.store.encoding import (
    duration_micros,
    from_json,
    from_micros,
    optional_text,
    safe_text,
    to_json,
    to_micros,
)
from tracehooks.store.rows import RunRecord, RunState
from tracehooks.store.upserts import insert_missing

RUNS = table(
    "runs",
    column("id", Text),
    column("job", Text),
    column("window_start", BigInteger),
    column("window_end", BigInteger),
    column("state", Text),
    column("verdict", Text),
    column("reasons", Text),
    column("plan", Text),
    column("counts", Text),
    column("report", Text),
    column("started", BigInteger),
    column("ended", BigInteger),
    column("owner", Text),
    column("held_until", BigInteger),
)
NEWEST_FIRST = (RUNS.c.started.desc(), RUNS.c.id.desc())
ENCODERS: Mapping[str, Callable[[Any], Any]] = {
    "state": safe_text,
    "verdict": lambda verdict: None if verdict is None else str(Verdict(verdict)),
    "reasons": to_json,
    "plan": to_json,
    "counts": to_json,
    "report": to_json,
    "started": to_micros,
    "ended": lambda time: None if time is None else to_micros(time),
    "owner": optional_text,
}


class Runs:
    """The run records."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database, self._clock = database, clock

    def open(
        self,
        job: str,
        window_start: datetime,
        window_end: datetime,
        plan: Mapping[str, Any],
        *,
        owner: str | None = None,
    ) -> RunRecord:
        """The run of ``job`` over the window: a new one in state running, or the one that is there.

        Its id follows from job and window.
        """
        start, end = to_micros(window_start), to_micros(window_end)
        row = {
            "id": run_id(job, start, end),
            "job": safe_text(job),
            "window_start": start,
            "window_end": end,
            "state": "running",
            "verdict": None,
            "reasons": "[]",
            "plan": to_json(plan),
            "counts": "{}",
            "report": "{}",
            "started": to_micros(self._clock()),
            "ended": None,
            "owner": optional_text(owner),
            "held_until": None,
        }

        def work(connection: Connection) -> Any:
            insert_missing(connection, RUNS, ["id"], [row])
            return connection.execute(select(RUNS).where(RUNS.c.id == row["id"])).one()

        return self._run(self._database.write(Area.WORK, work))

    def update(self, run_id: str, *, held_by: str | None = None, **fields: Any) -> RunRecord:
        """Set fields of a run by their RunRecord names; returns the run as it is then.

        With ``held_by`` only while that is its owner: who lost the run to another changes nothing.
        Raises TypeError for a field that may not be set, ConfigurationError when there is no such run.
        """
        values = _values(fields)
        changed = update(RUNS).where(RUNS.c.id == run_id).values(values)
        if held_by is not None:
            changed = changed.where(RUNS.c.owner == held_by)

        def work(connection: Connection) -> Any:
            if values:
                connection.execute(changed)
            return connection.execute(select(RUNS).where(RUNS.c.id == run_id)).one_or_none()

        row = self._database.write(Area.WORK, work)
        if row is None:
            raise ConfigurationError(_no_such_run(run_id))
        return self._run(row)

    def take(
        self,
        run_id: str,
        owner: str,
        lease: timedelta,
        *,
        is_gone: Callable[[str], bool] = lambda owner: False,
        states: Collection[str] = (),
        **fields: Any,
    ) -> RunRecord | None:
        """Make ``owner`` the one who works on the run while it renews the lease; None when it may not.

        A running run is free when nobody owns it, when its lease is over, or when ``is_gone`` says so of its
        owner. Where ``states`` are given the run must be in one of them. ``fields`` are set in the same step.
        Atomic: of several at most one gets it.
        """
        now = to_micros(self._clock())
        values = _values(fields) | {"state": "running", "owner": safe_text(owner)}
        values["held_until"] = now + duration_micros(lease)

        def work(connection: Connection) -> Any:
            query = select(RUNS).where(RUNS.c.id == run_id)
            row = connection.execute(query).one_or_none()
            if row is None or (states and row.state not in states):
                return None
            if row.state == "running" and not _is_free(row, owner, now, is_gone):
                return None
            connection.execute(update(RUNS).where(RUNS.c.id == run_id).values(values))
            return connection.execute(query).one()

        row = self._database.write(Area.WORK, work)
        return None if row is None else self._run(row)

    def hold(self, run_id: str, owner: str, lease: timedelta) -> bool:
        """Renew the lease. False when ``owner`` does not have the run any more."""
        until = to_micros(self._clock()) + duration_micros(lease)
        mine = and_(RUNS.c.id == run_id, RUNS.c.owner == owner, RUNS.c.state == "running")
        statement = update(RUNS).where(mine).values(held_until=until)
        return self._database.write(Area.WORK, lambda connection: connection.execute(statement).rowcount > 0)

    def get(self, run_id: str) -> RunRecord:
        """The run with this id, or the only one whose id starts like this.

        Raises ConfigurationError when there is none, or more than one.
        """
        query = select(RUNS).where(RUNS.c.id.startswith(safe_text(run_id), autoescape=True)).limit(2)
        rows = self._database.read(lambda connection: connection.execute(query).all()) if run_id else []
        if not rows:
            raise ConfigurationError(_no_such_run(run_id))
        if len(rows) > 1:
            raise ConfigurationError(f"{run_id!r} is the beginning of several runs' ids; give more of it")
        return self._run(rows[0])

    def of_window(self, job: str, window_start: datetime, window_end: datetime) -> RunRecord | None:
        """The run of ``job`` over the window, if there is one."""
        query = select(RUNS).where(RUNS.c.id == run_id(job, to_micros(window_start), to_micros(window_end)))
        row = self._database.read(lambda connection: connection.execute(query).one_or_none())
        return None if row is None else self._run(row)

    def latest(self, job: str | None = None, state: RunState | None = None) -> RunRecord | None:
        """The run that started last, of this job and in this state where given."""
        return next(iter(self._newest(job, state, limit=1)), None)

    def list(self, job: str | None = None, limit: int = 50) -> Sequence[RunRecord]:
        """The last runs, newest first."""
        return self._newest(job, None, limit)

    def _newest(self, job: str | None, state: RunState | None, limit: int) -> Sequence[RunRecord]:
        query = select(RUNS).order_by(*NEWEST_FIRST).limit(limit)
        if job is not None:
            query = query.where(RUNS.c.job == job)
        if state is not None:
            query = query.where(RUNS.c.state == state)
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return [self._run(row) for row in rows]

    def finished(self, job: str, limit: int = 50) -> Sequence[RunRecord]:
        """The finished runs of a job, the latest end of a window first."""
        query = select(RUNS).where(RUNS.c.job == job, RUNS.c.state == "finished")
        query = query.order_by(RUNS.c.window_end.desc(), *NEWEST_FIRST).limit(limit)
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return [self._run(row) for row in rows]

    def _run(self, row: Any) -> RunRecord:
        return _run(row, to_micros(self._clock()))


def _values(fields: Mapping[str, Any]) -> dict[str, Any]:
    if unknown := fields.keys() - ENCODERS.keys():
        raise TypeError(f"a run's {', '.join(sorted(unknown))} cannot be set")
    return {name: ENCODERS[name](value) for name, value in fields.items()}


def _is_free(row: Any, owner: str, now: int, is_gone: Callable[[str], bool]) -> bool:
    over = row.held_until is not None and row.held_until <= now
    return row.owner is None or row.owner == owner or over or is_gone(row.owner)


def run_id(job: str, window_start: int, window_end: int) -> str:
    """The id of a run: first 16 hex digits of sha256 over ``job|start|end``, times in microseconds."""
    key = f"{job}|{window_start}|{window_end}"
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _no_such_run(run_id: str) -> str:
    return f"there is no run {run_id!r}; `tracehooks status` lists them"


def _run(row: Any, now: int) -> RunRecord:
    return RunRecord(
        id=row.id,
        job=row.job,
        window_start=from_micros(row.window_start),
        window_end=from_micros(row.window_end),
        state=row.state,
        verdict=None if row.verdict is None else Verdict(row.verdict),
        reasons=tuple(from_json(row.reasons)),
        plan=from_json(row.plan),
        counts=from_json(row.counts),
        report=from_json(row.report),
        started=from_micros(row.started),
        ended=None if row.ended is None else from_micros(row.ended),
        owner=row.owner,
        lapsed=row.held_until is not None and row.held_until <= now,
    )
