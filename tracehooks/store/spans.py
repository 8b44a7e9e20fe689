"""Stored spans, and the calls that are derived from them in the same transaction."""

import hashlib
import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Connection,
    SmallInteger,
    Text,
    bindparam,
    column,
    delete,
    select,
    table,
)

from tracehooks.breathing import breathe
from tracehooks.calls import SpanEvent, SpanRecord, agent_calls
from tracehooks.calls.dialect import AGENTS, Kind
from tracehooks.calls.dialects import kind_of
from tracehooks.records import AgentCall
from tracehooks.store.calls import CALLS, write_calls
from tracehooks.store.database import Area, Database
from tracehooks.store.encoding import (
    chunks,
    from_json,
    optional_text,
    safe_text,
    to_int64,
    to_json,
    to_micros,
)
from tracehooks.store.listed import prune_listed
from tracehooks.store.unsent import Unsent, forget_traces, note
from tracehooks.store.upserts import insert_missing

logger = logging.getLogger("tracehooks")

RESOURCES = table("resources", column("id", Text), column("attributes", Text))
SPANS = table(
    "spans",
    column("trace_id", Text),
    column("span_id", Text),
    column("parent_span_id", Text),
    column("name", Text),
    column("scope", Text),
    column("start_ns", BigInteger),
    column("end_ns", BigInteger),
    column("status", Text),
    column("status_message", Text),
    column("may_be_call", SmallInteger),
    column("recorded_at", BigInteger),
    column("resource_id", Text),
    column("events", Text),
    column("attributes", Text),
)
KEY = ("trace_id", "span_id")
WITH_RESOURCE = select(*SPANS.c, RESOURCES.c.attributes.label("resource")).join_from(
    SPANS, RESOURCES, SPANS.c.resource_id == RESOURCES.c.id
)
SPANS_OF_TRACES_WITH_CALLS = WITH_RESOURCE.where(
    SPANS.c.trace_id.in_(
        select(SPANS.c.trace_id).where(
            SPANS.c.trace_id.in_(bindparam("traces", expanding=True)), SPANS.c.may_be_call == 1
        )
    )
).order_by(SPANS.c.start_ns, SPANS.c.span_id)
TRACES_AT_ONCE = 500
# a trace without such a span has no call, and need not be looked at again and again while it grows
CALLS_COME_FROM = AGENTS | {Kind.ENTRY}


class Spans:
    """The finished spans."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database, self._clock = database, clock

    def add(
        self, spans: Sequence[SpanRecord], unsent: Callable[[], Sequence[Unsent]] = tuple, owner: str = ""
    ) -> int:
        """Store ``spans``; those that are there already are left alone. Returns how many are new.

        ``unsent``, asked within the transaction, names those that backends have not got yet; the process
        ``owner`` is about to send them.

        The calls of every trace touched are derived anew in the same transaction, so the order in which a
        trace's spans arrive, and the process they arrive from, do not matter.
        """
        now = to_micros(self._clock())
        resources: dict[str, str] = {}
        rows = [_row(span, resources, now) for span in spans]

        def work(connection: Connection) -> int:
            kept = [{"id": name, "attributes": attributes} for name, attributes in resources.items()]
            insert_missing(connection, RESOURCES, ["id"], kept)
            new = insert_missing(connection, SPANS, KEY, rows)
            for traces in chunks(sorted({row["trace_id"] for row in rows}), TRACES_AT_ONCE):
                _derive(connection, traces, now)
            note(connection, unsent(), owner, now)
            return new

        return self._database.write(Area.SPANS, work) if rows else 0

    def of_trace(self, trace_id: str) -> list[SpanRecord]:
        """The spans of one trace, in the order they started."""
        query = WITH_RESOURCE.where(SPANS.c.trace_id == trace_id).order_by(SPANS.c.start_ns, SPANS.c.span_id)
        return self._database.read(lambda connection: [_span(row) for row in connection.execute(query)])

    def prune(self, older_than: datetime) -> int:
        """Delete the spans and calls of traces that ended before ``older_than``. Returns the spans deleted.

        Scores, runs and their counts are kept. Writers get their turn in between.
        """
        limit = to_micros(older_than) * 1000
        pruned = 0
        while deleted := self._database.write(Area.SPANS, lambda connection: _prune_some(connection, limit)):
            pruned += deleted
        self._database.write(Area.WORK, lambda connection: prune_listed(connection, limit // 1000))
        self._database.shrink()
        return pruned


def _row(span: SpanRecord, resources: dict[str, str], now: int) -> dict[str, Any]:
    breathe()
    resource = to_json(span.resource)
    resource_id = hashlib.sha256(resource.encode()).hexdigest()[:32]
    resources[resource_id] = resource
    return {
        "trace_id": safe_text(span.trace_id),
        "span_id": safe_text(span.span_id),
        "parent_span_id": optional_text(span.parent_span_id),
        "name": safe_text(span.name),
        "scope": safe_text(span.scope),
        "start_ns": to_int64(span.start_ns),
        "end_ns": to_int64(span.end_ns),
        "status": span.status,
        "status_message": optional_text(span.status_message),
        "may_be_call": int(_may_be_call(span)),
        "recorded_at": now,
        "resource_id": resource_id,
        "events": to_json([[event.name, event.time_ns, event.attributes] for event in span.events]),
        "attributes": to_json(span.attributes),
    }


def _may_be_call(span: SpanRecord) -> bool:
    try:
        return kind_of(span.name, span.scope, span.attributes) in CALLS_COME_FROM
    except Exception:
        # an attribute of an unheard-of type; making the calls will say so
        return True


def _span(row: Any) -> SpanRecord:
    return SpanRecord(
        trace_id=row.trace_id,
        span_id=row.span_id,
        parent_span_id=row.parent_span_id,
        name=row.name,
        scope=row.scope,
        start_ns=row.start_ns,
        end_ns=row.end_ns,
        status=row.status,
        status_message=row.status_message,
        attributes=from_json(row.attributes),
        events=tuple(
            SpanEvent(name=name, time_ns=time_ns, attributes=attributes)
            for name, time_ns, attributes in from_json(row.events)
        ),
        resource=from_json(row.resource),
    )


def _derive(connection: Connection, traces: Sequence[str], now: int) -> None:
    """Make the calls of ``traces`` anew from all their stored spans."""
    spans: dict[str, list[SpanRecord]] = {}
    for row in connection.execute(SPANS_OF_TRACES_WITH_CALLS, {"traces": traces}):
        spans.setdefault(row.trace_id, []).append(_span(row))
        breathe()
    calls = [call for trace_id in sorted(spans) for call in _calls_of(trace_id, spans[trace_id])]
    write_calls(connection, traces, calls, now)


def _calls_of(trace_id: str, spans: Sequence[SpanRecord]) -> list[AgentCall]:
    breathe()
    try:
        return agent_calls(spans)
    except Exception:
        # one trace that cannot be read must not take the calls of the others along
        logger.exception("no calls can be made of trace %s", trace_id)
        return []


def _prune_some(connection: Connection, limit: int) -> int:
    """Delete some traces whose last span ended before ``limit``, in nanoseconds. Returns how many spans."""
    younger = SPANS.alias("younger")
    old = (
        select(SPANS.c.trace_id)
        .where(
            SPANS.c.end_ns < limit,
            ~select(younger.c.trace_id)
            .where(younger.c.trace_id == SPANS.c.trace_id, younger.c.end_ns >= limit)
            .exists(),
        )
        .order_by(SPANS.c.end_ns)
        .limit(TRACES_AT_ONCE)
    )
    traces = sorted(set(connection.execute(old).scalars()))
    if not traces:
        return 0
    connection.execute(delete(CALLS).where(CALLS.c.trace_id.in_(traces)))
    forget_traces(connection, traces)
    return connection.execute(delete(SPANS).where(SPANS.c.trace_id.in_(traces))).rowcount
