"""What the SDKs send and expect: the client types of langfuse 5, and OpenTelemetry's own exporter."""

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from tests.fake_langfuse import FakeLangfuse
from tests.fake_langfuse.contract import Exchange, Replay, shape
from tests.fake_langfuse.routes import keyed

langfuse = pytest.importorskip("langfuse.api")


def exported(server: FakeLangfuse, spans: list[dict[str, Any]], **headers: str) -> None:
    """Sends ``spans`` (attributes), each inside the one before it, as gzipped protobuf."""
    authorization = keyed(server.public_key, server.secret_key)
    exporter = OTLPSpanExporter(
        f"{server.url}/api/public/otel/v1/traces",
        headers={"authorization": authorization, **headers},
        compression=Compression.Gzip,
    )
    provider = TracerProvider(
        resource=Resource.create({"langfuse.environment": "prod", "service.version": "7"})
    )
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("tests")

    def nest(rest: list[dict[str, Any]]) -> None:
        if rest:
            with tracer.start_as_current_span(f"span {len(rest)}", attributes=rest[0]):
                nest(rest[1:])

    nest(spans)
    provider.shutdown()


AGENT = {
    "langfuse.observation.type": "agent",
    "langfuse.observation.input": '"hello"',
    "langfuse.observation.output": "good day",
    "session.id": "s-1",
    "user.id": "u-1",
    "langfuse.trace.tags": ["beta"],
}


@pytest.mark.parametrize("mode", ["dual", "events", "v4.59"])
def test_a_span_becomes_an_observation_with_what_was_set_on_it(mode: str) -> None:
    """Type, texts, session, user and tags of that span only; the resource's environment on all."""
    with FakeLangfuse(mode) as server:
        exported(server, [{}, AGENT, {"gen_ai.tool.name": "search"}], **{"x-langfuse-ingestion-version": "4"})
        tool, agent, root = sorted(server.observations, key=lambda row: row["startTime"], reverse=True)
        by_type = {row["type"]: row for row in (tool, agent, root)}
        call = by_type["AGENT"]
        assert (call["input"], call["output"]) == ('"hello"', "good day")
        assert (call["sessionId"], call["userId"], call["tags"]) == ("s-1", "u-1", ["beta"])
        assert {row["environment"] for row in server.observations} == {"prod"}
        assert by_type["TOOL"]["name"] == "search"
        assert by_type["SPAN"]["isRootObservation"]
        assert by_type["SPAN"]["tags"] == []


def test_without_the_version_header_a_dual_server_shows_spans_late_in_v2() -> None:
    """In the v1 reads they are at once."""
    with FakeLangfuse("dual", clock=lambda: 1_796_000_000.0) as server:
        exported(server, [AGENT])
        assert server.observations == []
        assert len(server.project.traces) == 1
        server.advance(600)
        assert len(server.observations) == 1


def test_a_replay_is_an_experiment_by_the_attributes_of_its_spans() -> None:
    """Repeats of one item stay apart, each with the scores of its own span."""
    with FakeLangfuse("v4.59") as server, client(server) as api:
        for _ in range(2):
            exporter_attributes = AGENT | {
                "langfuse.experiment.id": "a" * 16,
                "langfuse.experiment.name": "night",
            }
            exported(server, [exporter_attributes | {"langfuse.experiment.item.id": "i1"}])
        assert len(server.observations) == 2
        for one in list(
            server.project.v2
        ):  # the id of the span itself, which only its maker knows beforehand
            assert one.experiment is not None
            one.experiment["item.root_observation_id"] = one.id
            at = dt.datetime.fromisoformat(one.start)
            score = {"id": f"s-{one.id}", "name": "noise", "value": 1, "timestamp": at}
            api.scores.create(request=[request(trace_id=one.trace_id, observation_id=one.id, **score)])
        since = dt.datetime.now(dt.UTC) - dt.timedelta(hours=1)
        (experiment,) = api.experiments.list(from_start_time=since).data
        assert (experiment.name, experiment.item_count) == ("night", 2)
        items = api.experiments.list_items(from_start_time=since, fields="core,io,scores").data
        assert [(one.experiment_item_id, len(one.scores)) for one in items] == [("i1", 1), ("i1", 1)]


@contextmanager
def client(server: FakeLangfuse) -> Iterator[Any]:
    """The SDK's client for ``server``."""
    keys = {"username": server.public_key, "password": server.secret_key}
    with httpx.Client(timeout=30) as http:
        yield langfuse.LangfuseAPI(base_url=server.url, httpx_client=http, **keys)


def request(**fields: Any) -> Any:
    return langfuse.CreateScoreRequest(**fields)


@pytest.fixture
def newest() -> Iterator[FakeLangfuse]:
    with FakeLangfuse("v4.59") as server:
        yield server


@pytest.fixture
def api(newest: FakeLangfuse) -> Iterator[Any]:
    with client(newest) as api:
        yield api


def test_the_sdk_reads_back_the_scores_that_it_writes(newest: FakeLangfuse, api: Any) -> None:
    """By its own types, of every kind of value."""
    (trace_id,) = newest.add_calls(1)
    values: list[Any] = [("NUMERIC", 0.5), ("BOOLEAN", 1), ("CATEGORICAL", "good"), ("TEXT", "words")]
    scores = [
        request(id=kind, name=kind, trace_id=trace_id, value=value, data_type=kind) for kind, value in values
    ]
    assert api.scores.create(request=scores).message == "Accepted"
    found = api.scores.get_many(trace_id=trace_id, fields="details,subject,annotation").data
    assert {one.id: one.value for one in found} == {**dict(values), "BOOLEAN": True}
    partial = api.scores.create(request=[request(name="x", trace_id=trace_id, value=2, data_type="BOOLEAN")])
    assert (partial.accepted, partial.rejected) == (0, 1)


def test_the_sdk_reads_what_else_there_is(newest: FakeLangfuse, api: Any) -> None:
    """Observations, datasets, items, configs, queues and health, by its own types."""
    (trace_id,) = newest.add_calls(1, tags=["a"])
    assert api.health.health().version == "4.59.0"
    assert api.projects.get().data[0].name
    fields = "core,basic,time,io,metadata,model,usage,prompt,metrics,trace_context"
    (observation,) = api.observations.get_many(fields=fields, limit=10).data
    assert (observation.trace_id, observation.output) == (trace_id, "answer 0")
    api.datasets.create(name="d")
    api.dataset_items.create(dataset_name="d", id="i1", input={"q": 1}, expected_output="2")
    assert api.dataset_items.list(dataset_name="d").data[0].expected_output == 2
    config = api.score_configs.create(name="toxicity", data_type="NUMERIC", min_value=0, max_value=1)
    queue = api.annotation_queues.create_queue(name="q", score_config_ids=[config.id])
    item = api.annotation_queues.create_queue_item(queue.id, object_id=trace_id, object_type="TRACE")
    api.annotation_queues.update_queue_item(queue.id, item.id, status="COMPLETED")
    assert api.annotation_queues.list_queue_items(queue.id, status="COMPLETED").data[0].id == item.id


def test_v4_59_answers_the_recorded_requests_of_sdk_5_as_it_expects() -> None:
    """Recorded against an events-only 4.16 whose list answers were made up from the SDK's types."""
    replayed = Replay("events+shim", "v4.59").run()
    assert [one.label for one in replayed if one.status != one.said["status"]] == []
    assert [one.label for one in replayed if not _same_shape(one)] == []


def _same_shape(one: Exchange) -> bool:
    """All that the recorded response has is there."""
    if "/experiments" in one.said["path"] or "rows" in one.said:
        return True
    return {place for place, _ in shape(one.said["response"])} <= {place for place, _ in shape(one.response)}
