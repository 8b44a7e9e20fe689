"""Calls as Langfuse shows them: type, name, texts, session, user, tags, environment, usage, level."""

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

import tracehooks
from tests.exporters.collector import Collector, collecting
from tests.fake_langfuse import FakeLangfuse
from tracehooks import traced
from tracehooks.exporters.langfuse.client import Client
from tracehooks.exporters.langfuse.spans import LangfuseSpanExporter, span_exporters
from tracehooks.settings import Settings
from tracehooks.testing import MemoryExporter
from tracehooks.tracing.trouble import trouble

PATH = "/api/public/otel/v1/traces"
REPLY = {
    "choices": [{"message": {"role": "assistant", "content": "Tomorrow."}}],
    "usage": {"prompt_tokens": 11, "completion_tokens": 7},
}


@pytest.fixture(autouse=True)
def _start_anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [name for name in os.environ if name.startswith(("OTEL_", "LANGFUSE_"))]:
        monkeypatch.delenv(name)
    trouble.clear()
    yield
    tracehooks.shutdown(5)


def begin(server: FakeLangfuse, folder: Path, **more: Any) -> None:
    """Set tracehooks up with the stand-in's keys."""
    langfuse = {
        "base_url": server.url,
        "public_key": server.public_key,
        "secret_key": server.secret_key,
        **more.pop("langfuse", {}),
    }
    store = f"sqlite:///{folder}/store.db"
    tracehooks.init({"store": store, "service": "shop", "sinks": [], "langfuse": langfuse, **more})


@traced(kind="tool")
def look_up(order: str) -> dict[str, str]:
    return {"order": order, "state": "sent"}


@traced(kind="generation")
def ask_model(messages: list[dict[str, str]]) -> Any:
    return REPLY


@traced(name="support-bot", version="7")
def answer(question: str) -> str:
    with tracehooks.trace_attributes(
        session_id="s-1", user_id="u-1", tags=["beta", "eu"], metadata={"plan": "pro"}
    ):
        look_up("42")
        ask_model([{"role": "user", "content": question}])
        return "Tomorrow."


@traced(name="breaks")
def breaks() -> str:
    raise ValueError("no such order")


def rows(server: FakeLangfuse) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in server.observations}


def test_a_call_is_shown_with_all_that_is_known_of_it(any_langfuse: FakeLangfuse, tmp_path: Path) -> None:
    """Type, name, texts, session, user, tags, environment, release, version, usage: each where it belongs."""
    begin(any_langfuse, tmp_path, environment="Prod Env", langfuse={"release": "2026.11"})
    answer("When does it come?")
    assert tracehooks.flush(10)
    found = rows(any_langfuse)
    assert {name: row["type"] for name, row in found.items()} == {
        "support-bot": "AGENT",
        "look_up": "TOOL",
        "ask_model": "GENERATION",
    }
    agent = found["support-bot"]
    assert "When does it come?" in str(agent["input"])
    assert agent["output"] == "Tomorrow."
    assert (agent["sessionId"], agent["userId"], agent["tags"]) == ("s-1", "u-1", ["beta", "eu"])
    assert (agent["environment"], agent["release"], agent["version"]) == ("prod-env", "2026.11", "7")
    assert agent["traceName"] == "support-bot"
    assert (agent["level"], agent["metadata"]["plan"]) == ("DEFAULT", "pro")
    usage = found["ask_model"]["usageDetails"]
    assert (usage["input"], usage["output"]) == (11, 7)
    for row in found.values():
        assert row["environment"] == "prod-env"


def test_a_failure_is_shown_as_one(langfuse: FakeLangfuse, tmp_path: Path) -> None:
    """Level ERROR, with what went wrong."""
    begin(langfuse, tmp_path)
    with pytest.raises(ValueError, match="no such order"):
        breaks()
    assert tracehooks.flush(10)
    row = rows(langfuse)["breaks"]
    assert (row["level"], row["statusMessage"]) == ("ERROR", "ValueError: no such order")


def test_tokens_are_counted_once(langfuse: FakeLangfuse, tmp_path: Path) -> None:
    """An agent that returns its model's reply repeats the usage; the sum over the trace would be double."""

    @traced(name="repeats")
    def repeats() -> Any:
        return ask_model([{"role": "user", "content": "hi"}])

    @traced(name="alone")
    def alone() -> Any:
        return REPLY

    begin(langfuse, tmp_path)
    repeats()
    alone()
    assert tracehooks.flush(10)
    found = rows(langfuse)
    assert found["ask_model"]["usageDetails"]["input"] == 11
    assert not found["repeats"]["usageDetails"]
    assert found["alone"]["usageDetails"]["input"] == 11


def test_nothing_foreign_goes_there(langfuse: FakeLangfuse, tmp_path: Path) -> None:
    """langfuse/langfuse#6885, pydantic/logfire#1622: an application's own spans stay where they were."""
    provider = TracerProvider()
    theirs = MemoryExporter()
    provider.add_span_processor(SimpleSpanProcessor(theirs))
    settings = {"base_url": langfuse.url, "public_key": "pk-lf-lab-0000", "secret_key": "sk-lf-lab-0000"}
    store = f"sqlite:///{tmp_path}/store.db"
    tracehooks.init({"store": store, "sinks": [], "langfuse": settings}, tracer_provider=provider)
    tracer = provider.get_tracer("opentelemetry.instrumentation.fastapi")
    with tracer.start_as_current_span("GET /orders"):
        answer("When?")
    genai = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "foreign-bot"}
    with provider.get_tracer("some.framework").start_as_current_span("invoke_agent", attributes=genai):
        pass
    assert tracehooks.flush(10)
    sent = {row["name"] for row in langfuse.observations}
    assert "GET /orders" not in sent
    assert {"support-bot", "invoke_agent"} <= sent
    assert "GET /orders" in {span.name for span in theirs.spans}


def test_no_other_backends_headers_come_along(
    langfuse: FakeLangfuse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key for a collector of the environment is nobody else's business; it gets its spans too."""
    with collecting() as (collector, url):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-honeycomb-team=secret-of-theirs")
        begin(langfuse, tmp_path)
        answer("When?")
        assert tracehooks.flush(10)
        assert len(collector.spans) == len(langfuse.observations) == 3
        assert "authorization" not in {name.lower() for name in collector.headers}
    (request,) = [one for one in langfuse.requests if one.path == PATH]
    assert "secret-of-theirs" not in str(request.headers)
    assert request.headers["x-langfuse-ingestion-version"] == "4"


def test_spans_wait_for_a_server_that_is_down(langfuse: FakeLangfuse, tmp_path: Path) -> None:
    """langfuse/langfuse#1499, langfuse/langfuse-js#832: counted while it lasts, and delivered after it."""
    begin(langfuse, tmp_path)
    langfuse.down()
    for _ in range(20):
        answer("When?")
    assert not tracehooks.flush(1.0)
    counts = tracehooks.stats()["forwarded"]["langfuse"]
    assert counts["ended"] == 60 == counts["exported"] + counts["dropped"] + counts["pending"]
    assert counts["dropped"] == 0
    langfuse.up()
    assert tracehooks.flush(30)
    assert len(langfuse.observations) == 60
    assert tracehooks.stats()["forwarded"]["langfuse"]["exported"] == 60


def test_a_server_that_is_down_is_named_in_the_log(
    langfuse: FakeLangfuse, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its address and what is wrong, not the kind of an exception and a line of ours."""
    monkeypatch.setattr("tracehooks.exporters.langfuse.spans.PATIENCE", 0.0)
    langfuse.down()
    begin(langfuse, tmp_path)
    look_up("1")
    tracehooks.flush(10)
    lines = [
        record.getMessage() for record in caplog.records if "LangfuseSpanExporter" in record.getMessage()
    ]
    assert lines
    assert all(f"{langfuse.url} gives no answer" in line and ".py:" not in line for line in lines)


def test_a_full_queue_drops_and_counts(langfuse: FakeLangfuse, tmp_path: Path) -> None:
    """What does not fit into the queue while the server hangs is lost to Langfuse, and told."""
    begin(langfuse, tmp_path)
    langfuse.fail(PATH, hang=True, times=None)
    for n in range(2600):
        look_up(str(n))
    end = time.monotonic() + 10
    while time.monotonic() < end and tracehooks.stats()["forwarded"]["langfuse"]["ended"] < 2600:
        time.sleep(0.05)
    counts = tracehooks.stats()["forwarded"]["langfuse"]
    assert counts["dropped"] > 0
    assert counts["ended"] == 2600 == counts["exported"] + counts["dropped"] + counts["pending"]
    langfuse.clear()


def test_one_large_span_is_cut_and_takes_no_other_along() -> None:
    """langfuse/langfuse#1676, bbvch-ai/aihub-core#1795: twenty arrive, with three requests more at most."""
    with collecting() as (collector, url):
        collector.largest = 100_000
        exporter = LangfuseSpanExporter(Client(url, "pk", "sk"))
        noise = random.Random(7)
        large = "".join(chr(noise.randrange(32, 127)) for _ in range(1_000_000))
        exporter.export(spans([*["small"] * 10, large, *["small"] * 9]))
        exporter.shutdown()
        assert len({span.span_id for span in collector.spans}) == 20
        assert len(collector.requests) <= 4
        assert any('"truncated":true' in text for text in _texts(collector))
        assert exporter.lost == 0


def test_a_span_that_is_never_taken_is_counted_alone(langfuse: FakeLangfuse) -> None:
    """A server that says 413 to everything: given up, counted, and not tried for ever."""
    langfuse.fail(PATH, status=413, times=None, body="Body exceeded 1mb limit")
    exporter = LangfuseSpanExporter(Client(langfuse.url, langfuse.public_key, langfuse.secret_key))
    exporter.export(spans(["small"] * 3))
    exporter.shutdown()
    assert exporter.lost == 3
    assert len(langfuse.requests) < 15


def test_spans_with_wrong_keys_are_lost_and_counted(langfuse: FakeLangfuse) -> None:
    """One request, one line in the log, and no tries that cannot help."""
    exporter = LangfuseSpanExporter(Client(langfuse.url, "pk", "sk-wrong"))
    exporter.export(spans(["small"] * 3))
    exporter.shutdown()
    assert exporter.lost == 3
    assert len(langfuse.requests) == 1
    assert trouble.counts


def test_without_keys_nothing_is_sent() -> None:
    """No key, one key, or spans switched off: there is no exporter."""
    both = {"public_key": "pk", "secret_key": "sk"}
    assert span_exporters(Settings()) == {}
    assert span_exporters(Settings.model_validate({"langfuse": {"public_key": "pk"}})) == {}
    assert span_exporters(Settings.model_validate({"langfuse": {**both, "spans": False}})) == {}
    assert list(span_exporters(Settings.model_validate({"langfuse": both}))) == ["langfuse"]


def test_the_exporter_knows_its_keys_after_a_fork(langfuse: FakeLangfuse) -> None:
    """A forked child sends on a connection of its own."""
    exporter = LangfuseSpanExporter(Client(langfuse.url, langfuse.public_key, langfuse.secret_key))
    first, second = spans(["one", "two"])
    exporter.export([first])
    child = os.fork()
    if child == 0:
        try:
            exporter.export([second])
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    exporter.shutdown()
    assert len(langfuse.observations) == 2


def spans(outputs: list[str]) -> tuple[ReadableSpan, ...]:
    """Finished spans with these outputs."""

    @traced
    def agent(output: str) -> str:
        return output

    memory = MemoryExporter()
    capture = {"max_bytes": 4_000_000}
    tracehooks.init({"store": "", "sinks": [], "capture": capture}, tracer_provider=memory.provider())
    for output in outputs:
        agent(output)
    tracehooks.shutdown(1)
    return memory.spans


def _texts(collector: Collector) -> list[str]:
    return [one.value.string_value for span in collector.spans for one in span.attributes]
