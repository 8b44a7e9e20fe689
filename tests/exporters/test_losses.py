"""Spans that are lost on their way to the store are counted in the store, for the night to tell."""

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult

from tracehooks.exporters.store import StoreSpanExporter
from tracehooks.store import open_store
from tracehooks.tracing.pipeline import Pipeline

CALLS, QUEUE = 200, 32


class SlowStore(StoreSpanExporter):
    """A store that does not answer before it is told to."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.ready = threading.Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.ready.wait(30)
        return super().export(spans)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/store.db"


def test_what_a_full_queue_refused_is_noted_in_the_store(url: str) -> None:
    """langfuse/langfuse#1499, langfuse/langfuse-js#832: stored and lost add up, and both are in the store."""
    exporter = SlowStore(url)
    pipeline = Pipeline([exporter], max_queue=QUEUE, max_batch=QUEUE, interval=0.01)
    provider = TracerProvider(shutdown_on_exit=False)
    tracer = provider.get_tracer("tracehooks")
    for _ in range(CALLS):
        span = tracer.start_span("help-desk", attributes={"tracehooks.kind": "agent"})
        span.end()
        pipeline.on_end(span)
    exporter.ready.set()
    pipeline.flush(30)
    with open_store(url) as store:
        stored, lost = store.overview.counts()["spans"], store.losses.count()
        assert stored + lost == CALLS
        assert lost == pipeline.stats()["dropped"] > 0
    # what was noted is not noted again
    pipeline.on_end(span)
    pipeline.flush(30)
    pipeline.close(30)
    with open_store(url) as store:
        assert store.losses.count() == lost


def test_a_store_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    """It is tried again after the next batch; the agent does not notice."""
    (tmp_path / "store.db").write_text("not a database" * 500)
    exporter = StoreSpanExporter(f"sqlite:///{tmp_path}/store.db")
    assert exporter.note_lost(3) is False
    exporter.shutdown()
