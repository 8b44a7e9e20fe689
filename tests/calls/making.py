"""Spans for the tests of calls, named by one letter or number."""

from typing import Any

import orjson

from tracehooks.calls import SpanRecord

TRACE = "a" * 32


def span_id(name: str | int) -> str:
    return str(name).encode().hex().rjust(16, "0")[-16:]


def span(name: str | int, parent: str | int | None = None, **more: Any) -> SpanRecord:
    """A span of an unknown instrumentation; ``start`` and ``end`` in whole seconds."""
    start, end = more.pop("start", 1), more.pop("end", 9)
    fields: dict[str, Any] = {"trace_id": TRACE, "scope": "http", "attributes": {}}
    fields["name"] = more.pop("named", str(name))
    return SpanRecord(
        span_id=span_id(name),
        parent_span_id=None if parent is None else span_id(parent),
        start_ns=start * 10**9,
        end_ns=end * 10**9,
        **fields | more,
    )


def native(
    name: str | int,
    parent: str | int | None = None,
    *,
    kind: str = "agent",
    output: Any = "said",
    **more: Any,
) -> SpanRecord:
    """A span as our decorator records it."""
    attributes = {
        "tracehooks.kind": kind,
        "tracehooks.output": orjson.dumps(output).decode(),
        **more.pop("attributes", {}),
    }
    return span(name, parent, scope="tracehooks", attributes=attributes, **more)
