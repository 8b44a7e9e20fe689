"""Stored calls: listed by time in pages, each once."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    SmallInteger,
    Text,
    bindparam,
    column,
    delete,
    func,
    literal,
    select,
    table,
    tuple_,
)

from tracehooks.breathing import breathe
from tracehooks.records import AgentCall, TraceRef
from tracehooks.store.database import Database
from tracehooks.store.encoding import (
    chunks,
    from_json,
    from_micros,
    optional_text,
    safe_text,
    to_json,
    to_micros,
)
from tracehooks.store.filters import conditions, test
from tracehooks.store.rows import CallFilter, CallKey
from tracehooks.store.upserts import upsert

CALLS = table(
    "calls",
    column("trace_id", Text),
    column("span_id", Text),
    column("start", BigInteger),
    column("ended", BigInteger),
    column("name", Text),
    column("environment", Text),
    column("session_id", Text),
    column("user_id", Text),
    column("service", Text),
    column("version", Text),
    column("truncated", SmallInteger),
    column("text_source", Text),
    column("recorded_at", BigInteger),
    column("tags", Text),
    column("metadata", Text),
    column("error", Text),
    column("input", Text),
    column("output", Text),
)
KEY = ("trace_id", "span_id")
KEYS_OF_TRACES = select(CALLS.c.trace_id, CALLS.c.span_id).where(
    CALLS.c.trace_id.in_(bindparam("traces", expanding=True))
)
ORDER = (CALLS.c.start, CALLS.c.trace_id, CALLS.c.span_id)
PAGE = 500


class Calls:
    """The outermost agent calls of the stored spans."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def page(
        self,
        start: datetime | None = None,
        end: datetime | None = None,
        *,
        filters: CallFilter | None = None,
        after: CallKey | None = None,
        limit: int = PAGE,
    ) -> list[AgentCall]:
        """At most ``limit`` calls with ``start <= call.start < end``, ordered by (start, trace id, span id).

        ``after`` is the key of the last call of the page before. Fewer than ``limit`` means the end.
        """
        window = _window(start, end)
        return self._database.read(lambda connection: _page(connection, window, filters, after, limit))

    def iterate(
        self,
        start: datetime | None = None,
        end: datetime | None = None,
        filters: CallFilter | None = None,
    ) -> Iterator[AgentCall]:
        """All calls of a window in order, read page by page; nothing is held open between two pages."""
        after = None
        while page := self.page(start, end, filters=filters, after=after):
            yield from page
            after = CallKey.of(page[-1])

    def latest(
        self, limit: int = 50, filters: CallFilter | None = None, before: CallKey | None = None
    ) -> list[AgentCall]:
        """The newest calls first; ``before`` is the key of the last one of the page before."""
        return self._database.read(
            lambda connection: _page(connection, [], filters, before, limit, newest_first=True)
        )

    def of_trace(self, trace_id: str) -> list[AgentCall]:
        """The calls of one trace, in order."""
        query = select(CALLS).where(CALLS.c.trace_id == trace_id).order_by(*ORDER)
        return self._database.read(lambda connection: [call_of(row) for row in connection.execute(query)])

    def get_many(self, refs: Iterable[TraceRef]) -> dict[tuple[str, str], AgentCall]:
        """The calls of these addresses that are there, by (trace id, span id)."""
        keys = [(ref.trace_id, ref.span_id) for ref in refs]
        return self._database.read(lambda connection: read_calls(connection, keys))

    def span_of_time(self) -> tuple[datetime, datetime] | None:
        """The first and the last start; None when there are no calls."""
        ends = [select(end(CALLS.c.start)) for end in (func.min, func.max)]
        first, last = self._database.read(lambda connection: [connection.scalar(query) for query in ends])
        return None if first is None or last is None else (from_micros(first), from_micros(last))

    def count(
        self,
        start: datetime | None = None,
        end: datetime | None = None,
        filters: CallFilter | None = None,
    ) -> int:
        """How many calls a window has."""
        if test(filters):
            return sum(1 for _ in self.iterate(start, end, filters))
        query = (
            select(func.count()).select_from(CALLS).where(*_window(start, end), *conditions(filters, CALLS.c))
        )
        return self._database.read(lambda connection: connection.scalar(query) or 0)


def read_calls(connection: Connection, keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], AgentCall]:
    """The stored calls among ``keys`` of (trace id, span id)."""
    wanted = set(keys)
    found = {}
    for traces in chunks(sorted({trace_id for trace_id, _ in wanted}), PAGE):
        for row in connection.execute(select(CALLS).where(CALLS.c.trace_id.in_(traces))):
            if (row.trace_id, row.span_id) in wanted:
                found[row.trace_id, row.span_id] = call_of(row)
    return found


def write_calls(connection: Connection, traces: Sequence[str], calls: Sequence[AgentCall], now: int) -> None:
    """Make ``calls`` the calls of ``traces``. What is no longer a call goes; the others keep recorded_at."""
    known = connection.execute(KEYS_OF_TRACES, {"traces": traces})
    gone = {(row.trace_id, row.span_id) for row in known} - {(call.trace_id, call.span_id) for call in calls}
    for trace_id, span_id in sorted(gone):
        connection.execute(delete(CALLS).where(CALLS.c.trace_id == trace_id, CALLS.c.span_id == span_id))
    upsert(connection, CALLS, KEY, [_row(call, now) for call in calls], kept=["recorded_at"])


def _page(
    connection: Connection,
    window: list[ColumnElement[bool]],
    filters: CallFilter | None,
    key: CallKey | None,
    limit: int,
    *,
    newest_first: bool = False,
) -> list[AgentCall]:
    """Read on from ``key`` until ``limit`` calls passed the filters."""
    passes = test(filters)
    query = select(CALLS).where(*window, *conditions(filters, CALLS.c))
    query = query.order_by(*(column.desc() if newest_first else column for column in ORDER)).limit(limit)
    page: list[AgentCall] = []
    while True:
        rows = connection.execute(query if key is None else query.where(beyond(key, newest_first))).all()
        calls = [call_of(row) for row in rows]
        page += calls if passes is None else filter(passes, calls)
        if len(page) >= limit or len(rows) < limit:
            return page[:limit]
        key = CallKey.of(calls[-1])


def _window(start: datetime | None, end: datetime | None) -> list[ColumnElement[bool]]:
    bounds = []
    if start is not None:
        bounds.append(CALLS.c.start >= to_micros(start))
    if end is not None:
        bounds.append(CALLS.c.start < to_micros(end))
    return bounds


def beyond(key: CallKey, newest_first: bool) -> ColumnElement[bool]:
    """What comes after ``key`` in the order of ORDER, or against it."""
    here = tuple_(literal(to_micros(key.start), BigInteger), literal(key.trace_id), literal(key.span_id))
    return tuple_(*ORDER) < here if newest_first else tuple_(*ORDER) > here


def _row(call: AgentCall, now: int) -> dict[str, Any]:
    breathe()
    return {
        "trace_id": call.trace_id,
        "span_id": call.span_id,
        "start": to_micros(call.start),
        "ended": to_micros(call.end),
        "name": safe_text(call.name),
        "environment": safe_text(call.environment),
        "session_id": optional_text(call.session_id),
        "user_id": optional_text(call.user_id),
        "service": optional_text(call.service),
        "version": optional_text(call.version),
        "truncated": int(call.truncated),
        "text_source": optional_text(call.text_source),
        "recorded_at": now,
        "tags": to_json(call.tags),
        "metadata": to_json(call.metadata),
        "error": optional_text(call.error),
        "input": optional_text(call.input),
        "output": optional_text(call.output),
    }


def call_of(row: Any) -> AgentCall:
    """The call that a row of CALLS holds."""
    return AgentCall(
        trace_id=row.trace_id,
        span_id=row.span_id,
        name=row.name,
        input=row.input,
        output=row.output,
        start=from_micros(row.start),
        end=from_micros(row.ended),
        environment=row.environment,
        session_id=row.session_id,
        user_id=row.user_id,
        tags=tuple(from_json(row.tags)),
        metadata=from_json(row.metadata),
        service=row.service,
        version=row.version,
        error=row.error,
        truncated=bool(row.truncated),
        text_source=row.text_source,
    )
