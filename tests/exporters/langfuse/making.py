"""Traces and sources for the tests of reading from Langfuse."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.fake_langfuse import FakeLangfuse
from tests.fake_langfuse.observations import Observation
from tests.fake_langfuse.times import iso_ms
from tests.stored import span_id, trace_id
from tracehooks.calls import SpanRecord
from tracehooks.exporters.langfuse.client import Client
from tracehooks.exporters.langfuse.source import LangfuseSource
from tracehooks.records import AgentCall
from tracehooks.scoring.drawing import Drawing, DrawRequest
from tracehooks.settings import FilterSettings

START = datetime(2026, 11, 29, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
PROJECT = "shop"


def source(server: FakeLangfuse, text: str | None = None, **filters: Any) -> LangfuseSource:
    """The source of the server's project."""
    client = Client(server.url, server.public_key, server.secret_key)
    return LangfuseSource(client, PROJECT, FilterSettings(**filters), text=text)


def request(**more: Any) -> DrawRequest:
    """What the test's hour holds, seen long after it."""
    given: dict[str, Any] = {
        "start": START,
        "end": START + HOUR,
        "settled": START + 5 * HOUR,
        "salt": "toxicity",
    }
    given |= more
    return DrawRequest(**{"window_start": given["start"], **given})


def drawn(source: LangfuseSource, **more: Any) -> tuple[Drawing, list[SpanRecord]]:
    """A drawing, and the spans that came with it."""
    kept: list[SpanRecord] = []
    return source.draw(request(**more), kept.extend), kept


def calls(source: LangfuseSource) -> list[AgentCall]:
    """All calls of the test's hour."""
    return list(source.calls(START, START + HOUR))


def observation(
    n: int,
    trace: int,
    parent: int | None = None,
    *,
    at: float = 0.0,
    seconds: float | None = 1.0,
    **fields: Any,
) -> Observation:
    """The observation ``n`` of a trace; ``at`` in seconds after START."""
    begin = START + timedelta(seconds=at)
    end = None if seconds is None else iso_ms(_ms(begin + timedelta(seconds=seconds)))
    return Observation(
        span_id(n),
        trace_id(trace),
        iso_ms(_ms(begin)),
        end,
        None if parent is None else span_id(parent),
        **{"type": "AGENT", "name": "bot", **fields},
    )


def put(server: FakeLangfuse, observations: Sequence[Observation]) -> None:
    """Let the server have ``observations``, at once."""
    server.project.write_spans(observations, direct=True, delay=0.0)
    server.project.settle()


def _ms(time: datetime) -> int:
    return round(time.timestamp() * 1000)
