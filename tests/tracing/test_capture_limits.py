"""Values that are too long: cut with a mark that is valid JSON, within every limit."""

import json
from typing import Any

import orjson
import pytest
from opentelemetry.sdk.trace import SpanLimits

import tracehooks
from tests.tracing.spans import attributes, only, recorded
from tracehooks import traced
from tracehooks.settings import Settings
from tracehooks.testing import MemoryExporter
from tracehooks.tracing.capture import MAX_BYTES


@traced
def agent(value: Any) -> Any:
    return value


def limited(memory: MemoryExporter, limit: int) -> None:
    provider = memory.provider(span_limits=SpanLimits(max_attribute_length=limit))
    tracehooks.init({"store": ""}, tracer_provider=provider)


def test_the_attribute_limit_of_the_environment_is_known(
    memory: MemoryExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """langfuse/langfuse#6517, traceloop/openllmetry#3212: with a limit of 64 the output still parses, says
    that it was cut and how long it was; the listener gets the full text, and the call knows."""
    monkeypatch.setenv("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "64")
    tracehooks.init({"store": ""}, tracer_provider=memory.provider())
    heard: list[Any] = []
    pipeline = tracehooks.runtime.pipeline()
    assert pipeline is not None
    pipeline.listen(lambda span, full, hooks: heard.append((span, full)))
    value = {"text": "y" * 500, "id": 7}
    agent(value)
    span = only(memory)
    found = recorded(span, "output")
    assert (found["truncated"], found["length"]) == (True, len(orjson.dumps(value)))
    assert '{"text":"yyyy'.startswith(found["preview"][:9])
    assert len(attributes(span)["tracehooks.output"]) <= 64
    (_, full) = heard[0]
    assert orjson.loads(full.output) == value
    assert orjson.loads(full.input) == {"value": value}
    whole = full.restored(attributes(span))
    assert orjson.loads(whole["tracehooks.output"]) == value
    assert memory.calls[0].truncated


@pytest.mark.parametrize("limit", [*range(80), 200, 1000])
@pytest.mark.parametrize("text", ["y" * 500, '"' * 300, "é\n" * 200, "\U0001f916" * 100, "\x00" * 90])
def test_every_limit_gives_valid_json_of_that_length(
    memory: MemoryExporter, caplog: pytest.LogCaptureFixture, limit: int, text: str
) -> None:
    """traceloop/openllmetry#3212: however small the limit and however the text must be escaped."""
    limited(memory, limit)
    agent(text)
    agent({"text": text, "id": 7})
    for span in memory.spans:
        for name in ("tracehooks.input", "tracehooks.output"):
            value = attributes(span)[name]
            assert len(value) <= limit
            if limit:
                json.loads(value)
    assert [r for r in caplog.records if "tracehooks" in r.getMessage()] == []


def test_a_cut_text_shows_its_beginning(memory: MemoryExporter) -> None:
    """The preview of a cut text is its own beginning, which is what the call says."""
    limited(memory, 100)
    agent("The answer is 42. " * 100)
    span = only(memory)
    assert recorded(span, "output")["preview"].startswith("The answer is 42. ")
    assert recorded(span, "input")["preview"].startswith("The answer is 42. ")
    assert recorded(span, "output")["length"] == 1802
    assert "gen_ai.output.messages" not in attributes(span)


def test_the_setting_caps_bytes(memory: MemoryExporter) -> None:
    """``capture.max_bytes`` counts bytes, not characters."""
    tracehooks.init({"store": "", "capture": {"max_bytes": 100}}, tracer_provider=memory.provider())
    agent("é" * 49)
    agent("é" * 50)
    fits, cut = memory.spans
    assert recorded(fits, "output") == "é" * 49
    assert recorded(cut, "output")["truncated"] is True
    assert len(attributes(cut)["tracehooks.output"].encode()) <= 100


def test_the_default_cap_is_the_settings_default() -> None:
    """Calls recorded without ``init()`` are capped alike."""
    assert Settings().capture.max_bytes == MAX_BYTES
