"""What sinks are handed of the scores they are to get: flat rows, or deliveries with the scored calls."""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, TypeVar

from sqlalchemy import Connection, select

from tracehooks.protocols import Delivery, ScoreRow
from tracehooks.records import AgentCall
from tracehooks.store.among import among
from tracehooks.store.calls import read_calls
from tracehooks.store.encoding import from_micros
from tracehooks.store.score_table import SCORES, kept_call, score_of

ROW = [SCORES.c[name] for name in ScoreRow._fields if name not in ("revision", "resent")]
BY_CALL = attrgetter("call_start", "id")

T = TypeVar("T")
Taken = Mapping[str, tuple[int, int]]  # by score id: revision, and how often resent
Reader = Callable[[Connection, Taken], list[T]]


def read_rows(connection: Connection, taken: Taken) -> list[ScoreRow]:
    """The scores that were taken, by the calls' start."""
    found = connection.execute(select(*ROW).where(among(connection, SCORES.c.id, list(taken))))
    return sorted((ScoreRow._make((*row, *taken[row[0]])) for row in found), key=BY_CALL)


def read_deliveries(connection: Connection, taken: Taken) -> list[Delivery]:
    """The same with the scored calls: without its texts one that is not stored any more."""
    query = select(SCORES).where(among(connection, SCORES.c.id, list(taken)))
    rows = connection.execute(query.order_by(SCORES.c.call_start, SCORES.c.id)).mappings().all()
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
