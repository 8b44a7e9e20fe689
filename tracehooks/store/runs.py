"""Stored runs: one record for each job and window."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Connection, Text, column, select, table, update

from tracehooks.errors import ConfigurationError
from tracehooks.records import Verdict
from tracehooks.store.database import Area, Database
from tracehooks.store.encoding import from_json, from_micros, optional_text, safe_text, to_json, to_micros
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
        }

        def work(connection: Connection) -> RunRecord:
            insert_missing(connection, RUNS, ["id"], [row])
            return _run(connection.execute(select(RUNS).where(RUNS.c.id == row["id"])).one())

        return self._database.write(Area.WORK, work)

    def update(self, run_id: str, **fields: Any) -> RunRecord:
        """Set fields of a run by their RunRecord names; returns the run as it is then.

        Raises TypeError for a field that may not be set, ConfigurationError when there is no such run.
        """
        if unknown := fields.keys() - ENCODERS.keys():
            raise TypeError(f"a run's {', '.join(sorted(unknown))} cannot be set")
        values = {name: ENCODERS[name](value) for name, value in fields.items()}

        def work(connection: Connection) -> Any:
            if values:
                connection.execute(update(RUNS).where(RUNS.c.id == run_id).values(values))
            return connection.execute(select(RUNS).where(RUNS.c.id == run_id)).one_or_none()

        row = self._database.write(Area.WORK, work)
        if row is None:
            raise ConfigurationError(_no_such_run(run_id))
        return _run(row)

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
        return _run(rows[0])

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
        return self._database.read(lambda connection: [_run(row) for row in connection.execute(query)])


def run_id(job: str, window_start: int, window_end: int) -> str:
    """The id of a run: first 16 hex digits of sha256 over ``job|start|end``, times in microseconds."""
    key = f"{job}|{window_start}|{window_end}"
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _no_such_run(run_id: str) -> str:
    return f"there is no run {run_id!r}; `tracehooks status` lists them"


def _run(row: Any) -> RunRecord:
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
    )
