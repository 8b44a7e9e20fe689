"""How fast the local store takes spans in and lists calls, against the plain sqlite3 module."""

import gc
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from benchmarks.effort import Effort
from benchmarks.figures import Table, compared
from benchmarks.workloads import TEXT
from tracehooks.calls import SpanRecord
from tracehooks.store import CallKey, open_store

BATCH = 256  # what the tracing pipeline hands over at once
PAGE = 500
MICROSECONDS = 1e6
START = datetime(2026, 1, 1, tzinfo=UTC)

Told = Callable[[str], None]

_TABLES = """
PRAGMA journal_mode=WAL;
PRAGMA synchronous=NORMAL;
CREATE TABLE spans (
    trace_id TEXT, span_id TEXT, start INTEGER, attributes TEXT, PRIMARY KEY (trace_id, span_id)
);
CREATE INDEX by_start ON spans (start, trace_id, span_id);
"""
_PAGE = """
SELECT start, trace_id, span_id, attributes FROM spans
WHERE (start, trace_id, span_id) > (?, ?, ?) ORDER BY start, trace_id, span_id LIMIT ?
"""


def spans(first: int, count: int) -> list[SpanRecord]:
    """Agent spans of 1 KB in and out, each a trace of its own, a second apart."""
    return [_span(number) for number in range(first, first + count)]


def _span(number: int) -> SpanRecord:
    start = int((START + timedelta(seconds=number)).timestamp()) * 10**9
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "support",
        "tracehooks.kind": "agent",
        "tracehooks.input": orjson.dumps({"question": TEXT}).decode(),
        "tracehooks.output": orjson.dumps(TEXT).decode(),
    }
    return SpanRecord(
        trace_id=f"{number + 1:032x}",
        span_id=f"{number + 1:016x}",
        parent_span_id=None,
        name="support",
        scope="tracehooks",
        start_ns=start,
        end_ns=start + 2 * 10**9,
        status="unset",
        status_message="",
        attributes=attributes,
        events=(),
        resource={"service.name": "support-bot"},
    )


def measure(effort: Effort, tell: Told) -> Table:
    """CPU of a span and of a call; the last page over the first shows whether paging stays even."""
    rounds = []
    for number in range(effort.spans_rounds):
        tell(f"store, round {number + 1} of {effort.spans_rounds}")
        with TemporaryDirectory(prefix="tracehooks-bench-") as folder:
            rounds.append(_round(Path(folder), effort.spans))
    stored, by_hand, listed, listed_by_hand, first, last = zip(*rounds, strict=True)
    rows = (
        compared("a span of 1 KB in and out stored, with its call", stored, by_hand, scale=MICROSECONDS),
        compared(f"a call listed, in pages of {PAGE}", listed, listed_by_hand, scale=MICROSECONDS),
        compared(
            f"a call of the last page of {effort.spans}, over the first", last, first, scale=MICROSECONDS
        ),
    )
    return Table("store", "CPU of the local store, over sqlite3 by hand", "store", "sqlite3", "µs", rows)


def _round(folder: Path, count: int) -> tuple[float, ...]:
    """CPU seconds: a span stored, a call listed, each also by hand; a call of the first and last page."""
    batches = [spans(first, min(BATCH, count - first)) for first in range(0, count, BATCH)]
    with open_store(f"sqlite:///{folder / 'store.db'}") as store, _by_hand(folder) as connection:
        stored = _cpu(lambda: [store.spans.add(batch) for batch in batches]) / count
        by_hand = _cpu(lambda: _insert_all(connection, batches)) / count
        calls = list(store.calls.iterate())
        assert len(calls) == count, f"{count} spans made {len(calls)} calls"
        listed = _cpu(lambda: list(store.calls.iterate())) / count
        listed_by_hand = _cpu(lambda: list(_select(connection))) / count
        size = min(PAGE, count)
        before_last = CallKey.of(calls[-size - 1]) if count > size else None
        first = _cpu(lambda: store.calls.page(limit=size)) / size
        last = _cpu(lambda: store.calls.page(after=before_last, limit=size)) / size
    return stored, by_hand, listed, listed_by_hand, first, last


def _cpu(work: Callable[[], object]) -> float:
    gc.collect()
    before = time.process_time()
    work()
    return time.process_time() - before


@contextmanager
def _by_hand(folder: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(folder / "by_hand.db")) as connection:
        connection.executescript(_TABLES)
        yield connection


def _insert_all(connection: sqlite3.Connection, batches: Sequence[Sequence[SpanRecord]]) -> None:
    for batch in batches:
        with connection:
            connection.executemany("INSERT OR IGNORE INTO spans VALUES (?, ?, ?, ?)", map(_values, batch))


def _values(span: SpanRecord) -> tuple[str, str, int, str]:
    return span.trace_id, span.span_id, span.start_ns, orjson.dumps(span.attributes).decode()


def _select(connection: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    after = (0, "", "")
    while rows := connection.execute(_PAGE, (*after, PAGE)).fetchall():
        yield from (orjson.loads(row[3]) for row in rows)
        after = rows[-1][:3]
