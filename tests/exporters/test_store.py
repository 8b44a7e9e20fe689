import contextlib
import logging
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tracehooks.exporters.store import PREVIEW_CHARS, StoreSpanExporter
from tracehooks.settings import Settings
from tracehooks.store import Store, open_store

AGENT = {"tracehooks.kind": "agent", "gen_ai.agent.name": "support", "tracehooks.output": '"hello"'}
Spans = Callable[..., list[ReadableSpan]]


@pytest.fixture
def finished() -> Iterator[Spans]:
    """Makes finished spans with the OpenTelemetry SDK: one for each mapping of attributes."""
    memory = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource({"service.name": "shop"}), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(memory))

    def make(*attributes: Mapping[str, Any], scope: str = "tracehooks") -> list[ReadableSpan]:
        memory.clear()
        for each in attributes:
            with provider.get_tracer(scope).start_as_current_span("support", attributes=each):
                pass
        return list(memory.get_finished_spans())

    yield make
    provider.shutdown()


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Where the exporter stores."""
    return f"sqlite:///{tmp_path}/deep/store.db"


@contextlib.contextmanager
def exporting(url: str) -> Iterator[StoreSpanExporter]:
    exporter = StoreSpanExporter.from_settings(Settings(store=url))
    yield exporter
    exporter.shutdown()


def outputs(store: Store) -> list[str | None]:
    return [call.output for call in store.calls.iterate()]


def counts(exporter: StoreSpanExporter) -> tuple[int, int, int]:
    return exporter.stored, exporter.ignored, exporter.lost


def test_spans_of_agents_become_calls(url: str, finished: Spans) -> None:
    """What the SDK hands over is in the store when export returns, its process's name too."""
    with exporting(url) as exporter:
        assert exporter.export(finished(AGENT, AGENT)) is SpanExportResult.SUCCESS
        assert exporter.force_flush()
        assert counts(exporter) == (2, 0, 0)
    with open_store(url) as store:
        assert outputs(store) == ["hello", "hello"]
        assert {call.service for call in store.calls.iterate()} == {"shop"}


def test_an_applications_other_spans_are_not_kept(url: str, finished: Spans) -> None:
    """Web and database spans of the same provider are ignored, another framework's agents are not."""
    web = {"http.request.method": "GET", "url.path": "/"}
    foreign = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"text","content":"hi"}]}]',
    }
    with exporting(url) as exporter:
        assert (
            exporter.export(finished(web, foreign, web, scope="some.framework")) is SpanExportResult.SUCCESS
        )
        assert exporter.export(finished(web, scope="some.framework")) is SpanExportResult.SUCCESS
        assert counts(exporter) == (1, 3, 0)
    with open_store(url) as store:
        assert outputs(store) == ["hi"]
        assert [
            span.scope for call in store.calls.iterate() for span in store.spans.of_trace(call.trace_id)
        ] == ["some.framework"]


def test_the_store_is_opened_by_the_first_batch(url: str, tmp_path: Path, finished: Spans) -> None:
    """Making the exporter costs no file and no connection; shutting it down unused does neither."""
    with exporting(url):
        assert list(tmp_path.iterdir()) == []
    assert list(tmp_path.iterdir()) == []


class Spoilt:
    """A finished span that raises when it is read."""

    def __init__(self, span: ReadableSpan) -> None:
        self._span = span

    def __getattr__(self, name: str) -> Any:
        if name == "events":
            raise RuntimeError("spoilt")
        return getattr(self._span, name)


def test_a_broken_span_does_not_take_its_batch_along(
    url: str, finished: Spans, caplog: pytest.LogCaptureFixture
) -> None:
    """Nineteen of twenty are stored, the one that cannot be read is counted and told of.

    langfuse/langfuse#1676
    """
    spans: Sequence[Any] = finished(*[AGENT] * 20)
    batch = [*spans[:7], Spoilt(spans[7]), *spans[8:]]
    with exporting(url) as exporter, caplog.at_level(logging.WARNING, "tracehooks"):
        assert exporter.export(batch) is SpanExportResult.SUCCESS
        assert counts(exporter) == (19, 0, 1)
        assert [record.getMessage() for record in caplog.records] == [
            "1 spans could not be stored: RuntimeError: spoilt"
        ]
        assert exporter.export([Spoilt(spans[7])]) is SpanExportResult.FAILURE  # type: ignore[list-item]
    with open_store(url) as store:
        assert len(outputs(store)) == 19


def test_an_oversized_span_is_kept_and_cut(url: str, finished: Spans) -> None:
    """Ten megabytes are not lost and not kept: valid JSON says how long it was and how it began.

    langfuse/langfuse#1676, bbvch-ai/aihub-core#1795
    """
    big = {**AGENT, "tracehooks.output": '"' + "y" * 10_000_000 + '\ud83e"', "other": "x" * 500}
    with exporting(url) as exporter:
        assert exporter.export(finished(AGENT, big, AGENT)) is SpanExportResult.SUCCESS
        assert counts(exporter) == (3, 0, 0)
    with open_store(url) as store:
        calls = list(store.calls.iterate())
        assert [call.truncated for call in calls] == [False, True, False]
        (span,) = store.spans.of_trace(calls[1].trace_id)
    cut = orjson.loads(span.attributes["tracehooks.output"])
    assert (cut["truncated"], cut["length"]) == (True, 10_000_003)
    assert cut["preview"] == '"' + "y" * (PREVIEW_CHARS - 1)
    assert span.attributes["other"] == "x" * 500


def test_odd_values_pass_through_the_sdk_into_the_store(url: str, finished: Spans) -> None:
    """A lone surrogate reads as U+FFFD, and the good spans of its batch are there (mlflow/mlflow#24123)."""
    odd = {**AGENT, "tracehooks.output": "ok \ud83e"}
    with exporting(url) as exporter:
        assert exporter.export(finished(AGENT, odd, AGENT)) is SpanExportResult.SUCCESS
    with open_store(url) as store:
        assert outputs(store) == ["hello", "ok \ufffd", "hello"]


def test_an_unusable_store_is_a_failure_and_no_exception(
    tmp_path: Path, finished: Spans, caplog: pytest.LogCaptureFixture
) -> None:
    """The pipeline hears FAILURE and may try again; once the store is usable the spans are stored."""
    path = tmp_path / "store.db"
    path.write_text("not a database, " * 100)
    with exporting(f"sqlite:///{path}") as exporter, caplog.at_level(logging.CRITICAL, "tracehooks"):
        spans = finished(AGENT)
        assert exporter.export(spans) is SpanExportResult.FAILURE
        path.unlink()
        assert exporter.export(spans) is SpanExportResult.SUCCESS
        assert counts(exporter) == (1, 0, 0)


def test_a_store_that_stays_unusable_is_told_of_once(
    tmp_path: Path, finished: Spans, caplog: pytest.LogCaptureFixture
) -> None:
    """A full disk or a locked file must not fill the application's log; another trouble is told."""
    path = tmp_path / "store.db"
    path.write_text("not a database, " * 100)
    with exporting(f"sqlite:///{path}") as exporter, caplog.at_level(logging.WARNING, "tracehooks"):
        for span in finished(*[AGENT] * 5):
            assert exporter.export([span]) is SpanExportResult.FAILURE
        exporter.shutdown()
        exporter.export(finished(AGENT))
    first, second = (record.getMessage() for record in caplog.records)
    assert "is not a SQLite database" in first
    assert "was shut down" in second


def test_nothing_is_stored_after_the_shutdown(
    url: str, finished: Spans, caplog: pytest.LogCaptureFixture
) -> None:
    """FAILURE, and the store stays closed; shutting down twice is fine."""
    with exporting(url) as exporter, caplog.at_level(logging.CRITICAL, "tracehooks"):
        exporter.export(finished(AGENT))
        exporter.shutdown()
        assert exporter.export(finished(AGENT)) is SpanExportResult.FAILURE
    with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        assert connection.execute("SELECT count(*) FROM spans").fetchone() == (1,)


def test_the_settings_name_the_store(tmp_path: Path) -> None:
    """Loaded by its entry point, as init() does it."""
    script = """
from importlib.metadata import entry_points
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from tracehooks.settings import load_settings
from tracehooks.store import open_store
(point,) = entry_points(group="tracehooks.exporters", name="store")
settings = load_settings()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(point.load().from_settings(settings)))
with provider.get_tracer("tracehooks").start_as_current_span("a", attributes={"tracehooks.kind": "agent"}):
    pass
provider.shutdown()
with open_store(settings.store) as store:
    print(store.calls.count())
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == ("1", "")
    assert (tmp_path / ".tracehooks" / "tracehooks.db").is_file()
