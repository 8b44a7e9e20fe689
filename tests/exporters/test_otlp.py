"""Spans over OTLP to a collector that refuses what is large, or is not there."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult

import tracehooks
from tests.ends.listening import closed_port
from tests.exporters.collector import Collector, collecting
from tracehooks import traced
from tracehooks.exporters.otlp import OtlpSpanExporter
from tracehooks.store import open_store
from tracehooks.testing import MemoryExporter
from tracehooks.tracing.trouble import trouble


@pytest.fixture
def collector() -> Iterator[tuple[Collector, str]]:
    with collecting() as pair:
        yield pair


@pytest.fixture(autouse=True)
def _start_anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)
    trouble.clear()
    yield
    tracehooks.shutdown(5)


@traced
def agent(length: int) -> str:
    return "y" * length


def spans(*lengths: int) -> tuple[ReadableSpan, ...]:
    """Finished spans with outputs of these lengths."""
    memory = MemoryExporter()
    tracehooks.init({"store": "", "capture": {"max_bytes": 2_000_000}}, tracer_provider=memory.provider())
    for length in lengths:
        agent(length)
    tracehooks.shutdown(1)
    return memory.spans


def output_of(span: Any) -> Any:
    (value,) = [one.value.string_value for one in span.attributes if one.key == "tracehooks.output"]
    return json.loads(value)


def test_one_large_span_is_cut_and_takes_no_other_along(collector: tuple[Collector, str]) -> None:
    """langfuse/langfuse#1676, bbvch-ai/aihub-core#1795: with three requests more at most."""
    endpoint, url = collector
    endpoint.largest = 100_000
    exporter = OtlpSpanExporter(endpoint=f"{url}/v1/traces")
    sent = spans(*[100] * 10, 1_000_000, *[100] * 9)
    assert exporter.export(sent) is SpanExportResult.SUCCESS
    assert len(endpoint.spans) == 20
    assert len({span.span_id for span in endpoint.spans}) == 20
    assert len(endpoint.requests) <= 4
    (large,) = [output for span in endpoint.spans if isinstance(output := output_of(span), dict)]
    assert (large["truncated"], large["length"]) == (True, 1_000_002)
    assert set(large["preview"]) == {"y"}
    assert sum(output_of(span) == "y" * 100 for span in endpoint.spans) == 19


def test_what_was_learnt_is_kept(collector: tuple[Collector, str]) -> None:
    """The next batch is sent in parts that are taken, at the first try."""
    endpoint, url = collector
    endpoint.largest = 100_000
    exporter = OtlpSpanExporter(endpoint=f"{url}/v1/traces")
    assert exporter.export(spans(*[9_000] * 50)) is SpanExportResult.SUCCESS
    assert len(endpoint.spans) == 50
    endpoint.requests.clear()
    assert exporter.export(spans(*[9_000] * 50)) is SpanExportResult.SUCCESS
    assert len(endpoint.spans) == 100
    assert max(endpoint.requests) <= 100_000
    assert all(output_of(span) == "y" * 9_000 for span in endpoint.spans)


def test_a_collector_that_takes_nothing_is_not_asked_for_ever(collector: tuple[Collector, str]) -> None:
    """Each refusal halves the request, and then it is a failure like any other."""
    endpoint, url = collector
    endpoint.largest = 10
    exporter = OtlpSpanExporter(endpoint=f"{url}/v1/traces")
    assert exporter.export(spans(100, 100_000)) is SpanExportResult.FAILURE
    assert len(endpoint.requests) < 12


def test_what_arrived_is_not_sent_again_with_what_did_not(collector: tuple[Collector, str]) -> None:
    """A second attempt brings no span twice."""
    endpoint, url = collector
    exporter = OtlpSpanExporter(endpoint=f"{url}/v1/traces")
    exporter.largest = 50_000
    sent = spans(*[9_000] * 20)
    for status, result in ((400, SpanExportResult.FAILURE), (200, SpanExportResult.SUCCESS)):
        endpoint.statuses = [200, status]
        assert exporter.export(sent) is result
    assert len(endpoint.spans) == len({span.span_id for span in endpoint.spans}) == 20


def test_what_the_collector_rejects_is_counted(collector: tuple[Collector, str], tmp_path: Any) -> None:
    """It answers 200 and says in the answer how many spans it did not take."""
    endpoint, url = collector
    endpoint.rejects = 2
    tracehooks.init({"store": f"sqlite:///{tmp_path}/store.db", "otlp": {"picky": {"endpoint": url}}})
    for length in range(5):
        agent(length)
    assert not tracehooks.flush(20)
    counts = tracehooks.stats()["forwarded"]["otlp.picky"]
    assert counts == {"ended": 5, "exported": 3, "dropped": 2, "pending": 0}


def wide(**attributes: Any) -> ReadableSpan:
    """A finished span of somebody's agent with these attributes."""
    memory = MemoryExporter()
    memory.provider().get_tracer("somebody").start_span("wide", attributes=attributes).end()
    return memory.spans[0]


@pytest.mark.parametrize(
    "attributes",
    [
        {f"text.{number}": "y" * 9_000 for number in range(60)},
        {"list": ["y" * 100] * 5_000},
        {"numbers": list(range(100_000))},
    ],
    ids=["many texts", "a list of texts", "a list of numbers"],
)
def test_a_span_that_is_large_in_another_way_is_cut_too(
    collector: tuple[Collector, str], attributes: dict[str, Any]
) -> None:
    """Whatever makes it large, it arrives, and what comes after it is not cut shorter than need be."""
    endpoint, url = collector
    endpoint.largest = 100_000
    exporter = OtlpSpanExporter(endpoint=f"{url}/v1/traces")
    assert exporter.export([wide(**attributes)]) is SpanExportResult.SUCCESS
    assert [span.name for span in endpoint.spans] == ["wide"]
    assert exporter.largest > 20_000


def test_a_span_that_nobody_takes_teaches_nothing(collector: tuple[Collector, str]) -> None:
    """What comes after it is sent whole."""
    endpoint, url = collector
    exporter = OtlpSpanExporter(endpoint=f"{url}/v1/traces")
    endpoint.largest = 10
    assert exporter.export(spans(100_000)) is SpanExportResult.FAILURE
    endpoint.largest = None
    assert exporter.export(spans(100_000)) is SpanExportResult.SUCCESS
    assert output_of(endpoint.spans[0]) == "y" * 100_000


def test_the_address_for_traces_is_used_as_it_is(
    collector: tuple[Collector, str], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OTEL_EXPORTER_OTLP_TRACES_ENDPOINT and its headers come before those for everything."""
    endpoint, url = collector
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{closed_port()}")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=of-all")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"{url}/tenant/v1/traces")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "x-key=of-traces")
    tracehooks.init({"store": f"sqlite:///{tmp_path}/store.db"})
    agent(1)
    assert tracehooks.flush(20)
    assert (len(endpoint.spans), endpoint.headers["x-key"]) == (1, "of-traces")


def test_a_mark_keeps_the_length_that_the_text_once_had(collector: tuple[Collector, str]) -> None:
    """What was cut for its attribute already, and is cut again."""
    endpoint, url = collector
    endpoint.largest = 20_000
    memory = MemoryExporter()
    tracehooks.init({"store": "", "capture": {"max_bytes": 50_000}}, tracer_provider=memory.provider())
    agent(1_000_000)
    exporter = OtlpSpanExporter(endpoint=f"{url}/v1/traces")
    assert exporter.export(memory.spans) is SpanExportResult.SUCCESS
    assert output_of(endpoint.spans[0])["length"] == 1_000_002


def test_the_endpoint_of_the_environment_gets_the_spans_too(
    collector: tuple[Collector, str], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As users of OpenTelemetry expect; counted for itself."""
    endpoint, url = collector
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
    tracehooks.init({"store": f"sqlite:///{tmp_path}/store.db"})
    for length in range(5):
        agent(length)
    assert tracehooks.flush(20)
    counts = tracehooks.stats()
    assert counts["forwarded"]["otlp"] == {"ended": 5, "exported": 5, "dropped": 0, "pending": 0}
    assert (counts["exported"], len(endpoint.spans)) == (5, 5)


def test_an_applications_provider_exports_by_itself(
    collector: tuple[Collector, str], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is sent twice, and with OTEL_TRACES_EXPORTER=none nothing is sent at all."""
    endpoint, url = collector
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
    tracehooks.init(
        {"store": f"sqlite:///{tmp_path}/store.db"}, tracer_provider=TracerProvider(shutdown_on_exit=False)
    )
    agent(1)
    assert tracehooks.flush(20)
    assert tracehooks.shutdown(5)
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    tracehooks.init({"store": f"sqlite:///{tmp_path}/store.db"})
    agent(1)
    assert tracehooks.flush(20)
    assert endpoint.spans == []


DEAD = """
import tracehooks
@tracehooks.traced
def agent(q): return q
tracehooks.init({"store": "sqlite:///x.db"})
agent("q")
print("last line", flush=True)
"""


def test_a_dead_collector_holds_up_neither_the_store_nor_the_exit(tmp_path: Any) -> None:
    """open-telemetry/opentelemetry-python#3309, open-telemetry/opentelemetry-python#2024."""
    endpoint = f"http://127.0.0.1:{closed_port()}"
    environment = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}
    process = subprocess.Popen(
        [sys.executable, "-c", DEAD], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "last line\n"
    before = time.monotonic()
    assert process.wait(30) == 0
    assert time.monotonic() - before < 9
    process.stdout.close()
    with open_store(f"sqlite:///{tmp_path}/x.db") as store:
        assert len(store.calls.latest(10)) == 1
