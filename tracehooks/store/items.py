"""Stored work items: what a run wants scored, claimed under leases that expire.

Two runs may want the same score of the same call. Then each has an item, and only one of them can be claimed
at a time; once one has its result, the other takes that over when it would be claimed.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from sqlalchemy import (
    CTE,
    BigInteger,
    ColumnElement,
    Connection,
    Double,
    Text,
    and_,
    column,
    delete,
    func,
    literal_column,
    not_,
    select,
    table,
    tuple_,
    update,
)
from sqlalchemy.sql.dml import ReturningUpdate

from tracehooks.records import Reason, Score, Status
from tracehooks.store.claims import HELD_AT_ONCE, PLANNED, Claims
from tracehooks.store.encoding import chunks, duration_micros, safe_text, to_micros
from tracehooks.store.rows import WorkItem
from tracehooks.store.runs import RUNS
from tracehooks.store.score_table import SCORES
from tracehooks.store.upserts import insert_missing

ITEMS = table(
    "items",
    column("run_id", Text),
    column("trace_id", Text),
    column("span_id", Text),
    column("score_name", Text),
    column("probability", Double),
    column("stratum", Text),
    column("state", Text),
    column("status", Text),
    column("reason_code", Text),
    column("token", BigInteger),
    column("attempts", BigInteger),
    column("owner", Text),
    column("claimable_at", BigInteger),  # 0 when planned, the lease's end when claimed, null when done
    column("seen", BigInteger),
)
KEY = ("run_id", "trace_id", "span_id", "score_name")
IN_ORDER = (ITEMS.c.trace_id, ITEMS.c.span_id, ITEMS.c.score_name)
# the same score of the same call, in another run
OTHERS = ITEMS.alias("others")
# what there is of the score that an item is about, in whatever project
KNOWN = (
    SCORES.c.trace_id == ITEMS.c.trace_id,
    SCORES.c.span_id == ITEMS.c.span_id,
    # not the bare column: SQLite would go through all scores of the name in place of those of the trace
    SCORES.c.name.concat("") == ITEMS.c.score_name,
)
AT_ONCE = 5000


class Items(Claims[WorkItem]):
    """The work items of runs."""

    _rows = ITEMS

    @staticmethod
    def _held(rows: Sequence[WorkItem]) -> ColumnElement[bool]:
        return _held(rows)

    def add(self, run_id: str, items: Iterable[WorkItem]) -> int:
        """Put work up; items that are there already stay as they are. Returns how many are new."""
        new = 0
        for chunk in chunks(items, AT_ONCE):
            rows = [_row(run_id, item) for item in chunk]
            new += self._write(partial(insert_missing, table=ITEMS, keys=KEY, rows=rows))
        return new

    def claim(self, run_id: str, owner: str, limit: int, lease: timedelta) -> list[WorkItem]:
        """Take at most ``limit`` items for ``owner``: planned ones, and claimed ones whose lease is over.

        Atomic: no two claims get the same item, nor two items of different runs about the same score of the
        same call. An item whose call was judged since it was planned, by another run or online, is done with
        that result and not handed out. Each claim raises an item's token, so that the result of an earlier
        holder is refused.
        """
        now = to_micros(self._clock())
        held = {"state": "claimed", "owner": safe_text(owner), "claimable_at": now + duration_micros(lease)}

        def work(connection: Connection) -> list[WorkItem]:
            due = _due(run_id, now, limit)
            while connection.execute(_taking_over_results(due)).all():
                pass  # those that come next may have results of others too
            return [_item(row) for row in connection.execute(_claiming(due, held))]

        return sorted(self._write(work), key=lambda item: item.key)

    def reopen(self, run_id: str, *, scored: bool = False) -> int:
        """Put the run's unscored items up again, with ``scored`` all that are done. Returns how many."""
        done = ITEMS.c.state == "done"
        chosen = done if scored else and_(done, ITEMS.c.status == Status.UNSCORED.value)
        statement = update(ITEMS).where(ITEMS.c.run_id == run_id, chosen)
        seen = select(func.coalesce(func.max(SCORES.c.entries), 0)).where(*KNOWN).scalar_subquery()
        statement = statement.values(**PLANNED, status=None, reason_code=None, seen=seen)
        return self._write(lambda connection: connection.execute(statement).rowcount)

    def keep_only(self, run_id: str, score_name: str) -> int:
        """Drop the run's items of any other score, as when a judge took over from the pre-screen.

        Their scores stay. Returns how many items were dropped.
        """
        statement = delete(ITEMS).where(ITEMS.c.run_id == run_id, ITEMS.c.score_name != score_name)
        return self._write(lambda connection: connection.execute(statement).rowcount)

    def owners(self, run_id: str | None = None) -> list[str]:
        """Who holds claims of the run, or of any run."""
        query = select(ITEMS.c.owner).where(ITEMS.c.state == literal_column("'claimed'")).distinct()
        if run_id is not None:
            query = query.where(ITEMS.c.run_id == run_id)
        return self._database.read(lambda connection: sorted(connection.execute(query).scalars()))

    def remaining(self, run_id: str) -> int:
        """How many items of the run have no result yet."""
        return sum(n for (state, _, _), n in self.counts(run_id).items() if state != "done")

    def counts(self, run_id: str) -> dict[tuple[str, str | None, str | None], int]:
        """How many items by (state, status, reason code)."""
        columns = (ITEMS.c.state, ITEMS.c.status, ITEMS.c.reason_code)
        query = select(*columns, func.count()).where(ITEMS.c.run_id == run_id).group_by(*columns)
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return {(state, status, reason): n for state, status, reason, n in rows}

    def outcomes(self, run_id: str) -> dict[str, Any]:
        """The done items by outcome: ``{"scored": n, "unscored": {reason: n}, "skipped": {reason: n}}``."""
        found: dict[str, Any] = {"scored": 0, "unscored": {}, "skipped": {}}
        for (state, status, reason), n in sorted(self.counts(run_id).items(), key=str):
            if state == "done" and status == Status.SCORED:
                found["scored"] += n
            elif state == "done" and status is not None:
                found[status][reason] = n
        return found

    def of_run(self, run_id: str) -> list[WorkItem]:
        """All items of a run, ordered by trace id, span id and score name."""
        query = select(ITEMS).where(ITEMS.c.run_id == run_id).order_by(*IN_ORDER)
        return self._database.read(lambda connection: [_item(row) for row in connection.execute(query)])

    def of_trace(self, trace_id: str) -> list[WorkItem]:
        """All items about the calls of one trace, the newest run's first."""
        query = (
            select(ITEMS)
            .join_from(ITEMS, RUNS, ITEMS.c.run_id == RUNS.c.id)
            .where(ITEMS.c.trace_id == trace_id)
            .order_by(RUNS.c.started.desc(), RUNS.c.id, *IN_ORDER)
        )
        return self._database.read(lambda connection: [_item(row) for row in connection.execute(query)])


def _due(run_id: str, now: int, limit: int) -> CTE:
    """The keys of the items that may be claimed next: whose call nobody works on for another run."""
    elsewhere = (
        select(OTHERS.c.run_id)
        .where(
            *(OTHERS.c[name] == ITEMS.c[name] for name in KEY[1:]),
            OTHERS.c.run_id != run_id,
            OTHERS.c.state == literal_column("'claimed'"),  # not a parameter: the index is for this value
            OTHERS.c.claimable_at > now,
        )
        .exists()
    )
    return (
        select(*(ITEMS.c[name] for name in KEY))
        .where(ITEMS.c.run_id == run_id, ITEMS.c.claimable_at <= now, not_(elsewhere))
        .order_by(ITEMS.c.claimable_at, *IN_ORDER)
        .limit(limit)
        .cte("due")
    )


def _taking_over_results(due: CTE) -> ReturningUpdate[Any]:
    """Those of ``due`` whose call got a result since they were planned are done with it."""
    done = {"state": "done", "owner": None, "claimable_at": None}
    same = (ITEMS.c[name] == due.c[name] for name in KEY)
    statement = update(ITEMS).where(*same, *KNOWN, SCORES.c.entries > ITEMS.c.seen)
    found = statement.values(**done, status=SCORES.c.status, reason_code=SCORES.c.reason_code)
    return found.returning(ITEMS.c.trace_id)  # counted by what comes back: SQLite does not count here


def _claiming(due: CTE, held: Mapping[str, Any]) -> ReturningUpdate[Any]:
    same = (ITEMS.c[name] == due.c[name] for name in KEY)
    once_more = {"token": ITEMS.c.token + 1, "attempts": ITEMS.c.attempts + 1}
    return update(ITEMS).where(*same).values({**held, **once_more}).returning(*ITEMS.c)


def finish(connection: Connection, outcomes: Iterable[tuple[WorkItem, Score]]) -> set[tuple[str, ...]]:
    """Mark claimed items done with the outcomes of their scores.

    Returns the (run id, trace id, span id, score name) of those whose tokens still counted; the others stay.
    """
    groups: dict[tuple[Status, Reason | None], list[WorkItem]] = {}
    for item, score in outcomes:
        groups.setdefault((score.status, score.reason_code), []).append(item)
    finished: set[tuple[str, ...]] = set()
    for (status, reason), items in groups.items():
        done = {"state": "done", "owner": None, "claimable_at": None}
        done |= {"status": status.value, "reason_code": None if reason is None else reason.value}
        for group in chunks(items, HELD_AT_ONCE):
            statement = update(ITEMS).where(_held(group)).values(done)
            rows = connection.execute(statement.returning(*(ITEMS.c[name] for name in KEY)))
            finished.update(tuple(row) for row in rows)
    return finished


def _held(items: Sequence[WorkItem]) -> ColumnElement[bool]:
    """The rows of ``items`` that are still claimed with the token that the item has."""
    names = (*KEY, "token")
    wanted = [tuple(getattr(item, name) for name in names) for item in items]
    return and_(
        # SQLite finds rows by the index for these two, but not for a list of tuples
        ITEMS.c.run_id.in_({item.run_id for item in items}),
        ITEMS.c.trace_id.in_({item.trace_id for item in items}),
        ITEMS.c.state == "claimed",
        tuple_(*(ITEMS.c[name] for name in names)).in_(wanted),
    )


def _row(run_id: str, item: WorkItem) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "trace_id": item.trace_id,
        "span_id": item.span_id,
        "score_name": safe_text(item.score_name),
        "probability": float(item.probability),
        "stratum": safe_text(item.stratum),
        "status": None,
        "reason_code": None,
        "token": 0,
        "attempts": 0,
        "seen": item.seen,
        **PLANNED,
    }


def _item(row: Any) -> WorkItem:
    return WorkItem(
        run_id=row.run_id,
        trace_id=row.trace_id,
        span_id=row.span_id,
        score_name=row.score_name,
        probability=float(row.probability),  # SQLite's RETURNING gives 1 for 1.0
        stratum=row.stratum,
        state=row.state,
        status=None if row.status is None else Status(row.status),
        reason_code=None if row.reason_code is None else Reason(row.reason_code),
        token=row.token,
        attempts=row.attempts,
        owner=row.owner,
        seen=row.seen,
    )
