import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, event

from tests.store.making import ALWAYS, START, agent_span, scored, span_id, trace_id, work_item
from tracehooks.protocols import Receipt
from tracehooks.records import TraceRef
from tracehooks.store import CallFilter, CallKey, ScoreKey, Store, open_store

MINUTE = timedelta(minutes=1)
KEY = CallKey(START, trace_id(1), span_id(1))
# a list that is given, and the short result of another step, are tables too to SQLite; runs are one a night
SMALL = re.compile(r"SCAN (due|runs|anon_\d+ VIRTUAL TABLE|(\d+ )?CONSTANT ROW)")
PLACES = [(trace_id(number), span_id(number)) for number in range(1, 4)]
REFS = [TraceRef(trace_id(number), span_id(number)) for number in range(1, 4)]

# what a command does with a store, and how much of a big table its statements may go through
QUICK: dict[str, Callable[[Store, str], Any]] = {
    "a page of calls": lambda store, run: store.calls.page(*ALWAYS),
    "the next page of calls": lambda store, run: store.calls.page(*ALWAYS, after=KEY),
    "filtered calls": lambda store, run: store.calls.page(*ALWAYS, filters=CallFilter(environment=("x",))),
    "the latest calls": lambda store, run: store.calls.latest(50, before=KEY),
    "calls by address": lambda store, run: store.calls.get_many(REFS),
    "the span of time": lambda store, run: store.calls.span_of_time(),
    "new spans": lambda store, run: store.spans.add([agent_span(900)]),
    "spans of a trace": lambda store, run: store.spans.of_trace(trace_id(1)),
    "old spans": lambda store, run: store.spans.prune(START - timedelta(days=1)),
    "a page of scores": lambda store, run: store.scores.page(after=ScoreKey(START, "0")),
    "a page of scores by name": lambda store, run: store.scores.page("toxicity"),
    "a page of scores by status": lambda store, run: store.scores.page("toxicity", "scored"),
    "a window of scores": lambda store, run: list(store.scores.in_window("toxicity", *ALWAYS)),
    "scores of calls": lambda store, run: store.scores.of_calls(REFS, "toxicity"),
    "a claim": lambda store, run: store.items.claim(run, "me", 16, MINUTE),
    "what is left": lambda store, run: store.items.remaining(run),
    "items of a trace": lambda store, run: store.items.of_trace(trace_id(1)),
    "a commit": lambda store, run: commit_claimed(store, run),
    "a delivery": lambda store, run: deliver(store),
    "spans that a backend took": lambda store, run: store.unsent.taken("langfuse", PLACES),
    "spans to send again": lambda store, run: store.unsent.claim("langfuse", "me", MINUTE, 16),
    "decisions": lambda store, run: store.decisions.decided("toxicity", REFS),
}


def commit_claimed(store: Store, run_id: str) -> None:
    items = store.items.claim(run_id, "me", 4, MINUTE)
    store.items.renew(items, "me", MINUTE)
    records = [scored(int(item.span_id, 16), item=item) for item in items]
    assert all(store.scores.commit(records, project="p", sinks=["jsonl"]))


def deliver(store: Store) -> None:
    deliveries = store.outbox.pending("jsonl", 100, "me", MINUTE)
    store.outbox.settle("jsonl", [Receipt(id=one.id, accepted=True) for one in deliveries], deliveries)


@pytest.fixture
def filled(sqlite_url: str) -> Iterator[Store]:
    """A store with something in every table."""
    with open_store(sqlite_url) as store:
        store.spans.add([agent_span(number) for number in range(1, 60)])
        run = store.runs.open("toxicity", START, START + MINUTE, {})
        store.items.add(run.id, [work_item(number) for number in range(1, 60)])
        store.scores.commit([scored(number) for number in range(1, 60)], project="p", sinks=["jsonl"])
        yield store


@pytest.mark.parametrize("what", QUICK)
def test_no_statement_goes_through_a_whole_table(filled: Store, what: str) -> None:
    """What is done often finds its rows by an index and in order: 100,000 calls are as quick as 100."""
    statements: list[tuple[str, Any]] = []

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, *rest: Any) -> None:
        statements.append((statement, parameters))

    run_id = filled.runs.list()[0].id
    event.listen(Engine, "before_cursor_execute", note)
    try:
        QUICK[what](filled, run_id)
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    slow = [
        line for statement, parameters in statements for line in slow_steps(filled, statement, parameters)
    ]
    assert statements
    assert slow == []


def slow_steps(store: Store, statement: str, parameters: Any) -> list[str]:
    """The steps of SQLite's plan that read a table from end to end, or sort before they cut a page."""
    if statement.split()[0] not in ("SELECT", "UPDATE", "DELETE", "WITH", "INSERT"):
        return []
    one = parameters[0] if isinstance(parameters, list) else parameters
    with closing(sqlite3.connect(store.url.removeprefix("sqlite:///"))) as connection:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", one)]
    scans = [step for step in plan if step.startswith("SCAN") and not SMALL.match(step)]
    sorts = [step for step in plan if "TEMP B-TREE" in step and " LIMIT " in statement]
    return [
        f"{step} <- {statement}" for step in sorts + scans if not reads_on_along_an_index(step, statement)
    ]


def reads_on_along_an_index(step: str, statement: str) -> bool:
    return "USING" in step and "INDEX" in step and ("LIMIT" in statement or "max(" in statement)
