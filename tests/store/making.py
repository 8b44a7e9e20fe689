"""Spans, calls and records for the store's tests."""

from datetime import UTC, datetime, timedelta
from typing import Any

from tracehooks.calls import SpanRecord
from tracehooks.records import AgentCall, Score
from tracehooks.store import ScoreRecord, WorkItem

START = datetime(2026, 11, 30, 2, tzinfo=UTC)
START_NS = int(START.timestamp()) * 10**9
ALWAYS = (datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, **more: float) -> None:
        """Move on by a timedelta's arguments."""
        self.now += timedelta(**more)


def trace_id(number: int) -> str:
    return f"{number:032x}"


def span_id(number: int) -> str:
    return f"{number:016x}"


def agent_span(
    number: int,
    *,
    trace: int | None = None,
    parent: int | None = None,
    after: timedelta | None = None,
    **more: Any,
) -> SpanRecord:
    """A finished span of an agent, in a trace of its own unless told otherwise."""
    start = START_NS + (after or timedelta(seconds=number)) // timedelta(microseconds=1) * 1000
    attributes = {
        "tracehooks.kind": "agent",
        "gen_ai.agent.name": "support",
        "tracehooks.input": '{"question":"where is my order?"}',
        "tracehooks.output": f'"answer {number}"',
    }
    return SpanRecord(
        trace_id=trace_id(number if trace is None else trace),
        span_id=span_id(number),
        parent_span_id=None if parent is None else span_id(parent),
        name="support",
        scope="tracehooks",
        start_ns=start,
        end_ns=start + 2 * 10**9,
        attributes=attributes | more.pop("attributes", {}),
        resource=more.pop("resource", {"service.name": "shop"}),
        **more,
    )


def tool_span(number: int, *, trace: int, parent: int | None) -> SpanRecord:
    """A finished span of a tool."""
    return agent_span(number, trace=trace, parent=parent, attributes={"tracehooks.kind": "tool"})


def call(number: int = 1, **more: Any) -> AgentCall:
    """An agent call as a source would hand it over."""
    start = START + timedelta(seconds=number)
    fields: dict[str, Any] = {"name": "support", "output": f"answer {number}", "start": start, "end": start}
    return AgentCall(trace_id=trace_id(number), span_id=span_id(number), **fields | more)


def scored(number: int = 1, value: float | str = 0.5, name: str = "toxicity", **more: Any) -> ScoreRecord:
    """A result with a value about call ``number``; what Score does not take goes to the record."""
    score = {key: more.pop(key) for key in ("data_type", "comment", "metadata") if key in more}
    return ScoreRecord(score=Score.scored(name, value, **score), **{"call": call(number)} | more)


def unscored(number: int = 1, reason: str = "timeout", name: str = "toxicity", **more: Any) -> ScoreRecord:
    """A result without a value about call ``number``."""
    return ScoreRecord(score=Score.unscored(name, reason), **{"call": call(number)} | more)


def work_item(number: int, run_id: str = "", name: str = "toxicity", **more: Any) -> WorkItem:
    """A planned work item about call ``number``."""
    return WorkItem(
        run_id=run_id, trace_id=trace_id(number), span_id=span_id(number), score_name=name, **more
    )
