"""Stored decisions: why a run did not plan a call."""

from collections.abc import Iterable
from functools import partial

from sqlalchemy import Connection, Text, column, delete, func, select, table, union

from tracehooks.records import Decision, TraceRef
from tracehooks.store.database import Area, Database
from tracehooks.store.encoding import chunks, safe_text
from tracehooks.store.items import ITEMS
from tracehooks.store.rows import DecisionRow
from tracehooks.store.runs import RUNS
from tracehooks.store.upserts import upsert

DECISIONS = table(
    "decisions",
    column("run_id", Text),
    column("trace_id", Text),
    column("span_id", Text),
    column("decision", Text),
    column("reason", Text),
)
KEY = ("run_id", "trace_id", "span_id")
AT_ONCE = 5000
TRACES_AT_ONCE = 500


class Decisions:
    """What runs decided about calls that they did not plan."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, run_id: str, rows: Iterable[tuple[str, str, Decision, str]]) -> None:
        """Keep (trace id, span id, decision, reason) rows; a call's later decision replaces its earlier."""
        for chunk in chunks(rows, AT_ONCE):
            values = [
                {
                    "run_id": run_id,
                    "trace_id": trace_id,
                    "span_id": span_id,
                    "decision": str(Decision(decision)),
                    "reason": safe_text(reason),
                }
                for trace_id, span_id, decision, reason in chunk
            ]
            self._database.write(Area.WORK, partial(upsert, table=DECISIONS, keys=KEY, rows=values))

    def clear(self, run_id: str) -> int:
        """Forget a run's decisions, to decide anew. Returns how many there were."""
        statement = delete(DECISIONS).where(DECISIONS.c.run_id == run_id)
        return self._database.write(Area.WORK, lambda connection: connection.execute(statement).rowcount)

    def of_trace(self, trace_id: str) -> list[DecisionRow]:
        """All decisions about the calls of one trace, the newest run's first."""
        query = (
            select(DECISIONS)
            .join_from(DECISIONS, RUNS, DECISIONS.c.run_id == RUNS.c.id)
            .where(DECISIONS.c.trace_id == trace_id)
            .order_by(RUNS.c.started.desc(), RUNS.c.id, DECISIONS.c.span_id)
        )
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return [
            DecisionRow(
                run_id=row.run_id,
                trace_id=row.trace_id,
                span_id=row.span_id,
                decision=Decision(row.decision),
                reason=row.reason,
            )
            for row in rows
        ]

    def counts(self, run_id: str) -> dict[Decision, int]:
        """How many calls got which decision."""
        query = (
            select(DECISIONS.c.decision, func.count().label("n"))
            .where(DECISIONS.c.run_id == run_id)
            .group_by(DECISIONS.c.decision)
        )
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return {Decision(row.decision): row.n for row in rows}

    def decided(self, job: str, refs: Iterable[TraceRef]) -> set[TraceRef]:
        """Those of ``refs`` that a run of ``job`` planned or decided about. A deferred call is undecided."""
        wanted = set(refs)
        traces = sorted({ref.trace_id for ref in wanted})
        found = self._database.read(lambda connection: _decided(connection, job, traces))
        return found & wanted


def _decided(connection: Connection, job: str, traces: list[str]) -> set[TraceRef]:
    found: set[TraceRef] = set()
    runs = select(RUNS.c.id).where(RUNS.c.job == job)
    for chunk in chunks(traces, TRACES_AT_ONCE):
        query = union(
            select(DECISIONS.c.trace_id, DECISIONS.c.span_id).where(
                DECISIONS.c.trace_id.in_(chunk),
                DECISIONS.c.run_id.in_(runs),
                DECISIONS.c.decision != Decision.DEFERRED.value,
            ),
            select(ITEMS.c.trace_id, ITEMS.c.span_id).where(
                ITEMS.c.trace_id.in_(chunk), ITEMS.c.run_id.in_(runs)
            ),
        )
        found |= {TraceRef(trace_id, span_id) for trace_id, span_id in connection.execute(query)}
    return found
