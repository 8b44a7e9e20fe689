"""Calls in a store, made through the same door as real ones: finished spans."""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import orjson

from tracehooks.calls import SpanRecord
from tracehooks.store import Store

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
POLITE = "Your order left our warehouse this morning and should arrive tomorrow."
RUDE = "You are an idiot, and I hope your parcel never arrives."


def trace_id(n: int) -> str:
    return hashlib.sha256(f"trace {n}".encode()).hexdigest()[:32]


def span_id(n: int) -> str:
    return hashlib.sha256(f"span {n}".encode()).hexdigest()[:16]


def agent_span(
    n: int,
    output: str | None = POLITE,
    *,
    start: datetime = NOON,
    seconds: float = 1.0,
    name: str = "support-bot",
    environment: str = "production",
) -> SpanRecord:
    """The finished span of one agent call, as the decorator makes it."""
    start_ns = int(start.timestamp() * 1_000_000) * 1000
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": name,
        "tracehooks.kind": "agent",
        "tracehooks.input": orjson.dumps({"question": f"Where is order {n}?"}).decode(),
    }
    if output is not None:
        attributes["tracehooks.output"] = orjson.dumps(output).decode()
    return SpanRecord(
        trace_id=trace_id(n),
        span_id=span_id(n),
        parent_span_id=None,
        name=f"invoke_agent {name}",
        scope="tracehooks",
        start_ns=start_ns,
        end_ns=start_ns + int(seconds * 1e9),
        status="ok",
        status_message="",
        attributes=attributes,
        events=(),
        resource={"service.name": "shop", "deployment.environment.name": environment},
    )


def fill(store: Store, outputs: Sequence[str | None], *, start: datetime = NOON, every: float = 1.0) -> None:
    """One call for each output, ``every`` seconds apart."""
    spans = [
        agent_span(n, output, start=start + timedelta(seconds=n * every)) for n, output in enumerate(outputs)
    ]
    store.spans.add(spans)


def mixed(count: int, rude: int) -> list[str | None]:
    """``count`` answers, the rude ones spread among them; each differs from the others."""
    step = count // rude if rude else count + 1
    return [
        f"{RUDE} ({n})" if rude and n % step == 0 and n // step < rude else f"{POLITE} ({n})"
        for n in range(count)
    ]
