"""A run's own span and metrics: there for whoever watches the nights, and never taken for an agent's call."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.exporters.collector import collecting
from tracehooks.calls import agent_calls, span_record
from tracehooks.jobs.telemetry import Telemetry
from tracehooks.records import Verdict
from tracehooks.store import RunRecord

NIGHT = datetime(2026, 12, 2, 2, tzinfo=UTC)
COUNTS = {"planned": 10, "scored": 7, "unscored": {"timeout": 1, "refused": 1}, "skipped": {"no_text": 1}}


def run(**more: Any) -> RunRecord:
    fields: dict[str, Any] = {"state": "finished", "verdict": Verdict.FAIL, "counts": COUNTS, **more}
    return RunRecord(
        id="4be1a07c",
        job="toxicity",
        window_start=NIGHT - timedelta(days=1),
        window_end=NIGHT,
        started=NIGHT,
        ended=NIGHT + timedelta(minutes=5),
        **fields,
    )


@pytest.fixture
def spans() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def telemetry(spans: InMemorySpanExporter) -> Telemetry:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    return Telemetry(provider, MeterProvider([InMemoryMetricReader()]))


def test_a_run_is_a_span_of_its_own_that_no_night_samples(
    telemetry: Telemetry, spans: InMemorySpanExporter
) -> None:
    """When it ran, how it ended, what it counted; in a trace of its own, and no agent's call."""
    telemetry.record(run())
    (span,) = spans.get_finished_spans()
    assert span.attributes is not None
    assert (span.name, span.parent, span.status.is_ok) == ("tracehooks.run", None, True)
    assert (span.end_time or 0) - (span.start_time or 0) == 300 * 10**9
    assert span.attributes["tracehooks.run.verdict"] == "fail"
    assert [span.attributes[f"tracehooks.run.{each}"] for each in ("scored", "unscored", "skipped")] == [
        7,
        2,
        1,
    ]
    assert agent_calls([span_record(span)]) == []


def test_a_run_that_failed_is_an_error(telemetry: Telemetry, spans: InMemorySpanExporter) -> None:
    """With its reason."""
    telemetry.record(run(state="failed", verdict=None, counts={}, reasons=("error: ValueError: no judge",)))
    (span,) = spans.get_finished_spans()
    assert span.status.description == "error: ValueError: no judge"


def test_metrics_tell_how_long_and_how_many() -> None:
    """By job, state and verdict; by status."""
    reader = InMemoryMetricReader()
    telemetry = Telemetry(TracerProvider(), MeterProvider([reader]))
    telemetry.record(run())
    telemetry.record(run())
    data: Any = reader.get_metrics_data()
    found = {one.name: one.data.data_points for one in data.resource_metrics[0].scope_metrics[0].metrics}
    assert found["tracehooks.run.duration"][0].sum == 600
    by_status = {
        point.attributes["tracehooks.status"]: point.value for point in found["tracehooks.run.items"]
    }
    assert by_status == {"scored": 14, "unscored": 4, "skipped": 2}


def test_without_providers_they_go_to_the_endpoint_of_the_environment_or_nowhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A scheduler has no application around it."""
    Telemetry().record(run())
    with collecting() as (endpoint, url):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        telemetry = Telemetry()
        telemetry.record(run())
        telemetry.close()
        assert [span.name for span in endpoint.spans] == ["tracehooks.run"]
        assert endpoint.metrics == {"tracehooks.run.duration", "tracehooks.run.items"}
