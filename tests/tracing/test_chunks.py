"""The chunks of a stream: recorded as they passed, put together as text, as OpenAI's, or by ``reduce``."""

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import openai
import pytest

from tests.tracing.spans import attributes, only, recorded
from tests.tracing.sse_server import CHUNKS, chunk, streaming
from tracehooks import traced
from tracehooks.testing import MemoryExporter
from tracehooks.tracing.trouble import trouble


def test_openais_stream(memory: MemoryExporter) -> None:
    """deepset-ai/haystack#8507, awslabs/llmeter#34: null deltas and a last chunk without choices pass as they
    are; the record is the text and the usage, and the stream is still OpenAI's."""

    @traced(kind="generation")
    def complete(client: Any, messages: list[dict[str, str]]) -> Any:
        return client.chat.completions.create(model="m", messages=messages, stream=True)

    with (
        streaming(CHUNKS) as url,
        openai.OpenAI(base_url=url, api_key="k") as client,
        complete(client, [{"role": "user", "content": "hi"}]) as stream,
    ):
        assert isinstance(stream, openai.Stream)
        assert stream.response.status_code == 200
        chunks = list(stream)
    assert [c.choices[0].delta.content for c in chunks if c.choices] == ["a", None, "b", None]
    span = only(memory)
    assert recorded(span, "output") == "ab"
    assert attributes(span)["gen_ai.usage.input_tokens"] == 5
    assert attributes(span)["gen_ai.usage.output_tokens"] == 2
    assert recorded(span, "input")["messages"] == [{"role": "user", "content": "hi"}]
    assert trouble.counts == {}


def test_openais_async_stream(memory: MemoryExporter) -> None:
    """The same for the async client, returned by an async function."""

    @traced
    async def agent(client: Any) -> Any:
        return await client.chat.completions.create(model="m", messages=[], stream=True)

    async def main() -> None:
        async with openai.AsyncOpenAI(base_url=url, api_key="k") as client, await agent(client) as stream:
            assert isinstance(stream, openai.AsyncStream)
            assert len([c async for c in stream]) == 5

    with streaming(CHUNKS) as url:
        asyncio.run(main())
    assert recorded(only(memory), "output") == "ab"
    assert attributes(only(memory))["gen_ai.usage.output_tokens"] == 2


def as_objects(value: Any) -> Any:
    if isinstance(value, dict):
        return SimpleNamespace(**{key: as_objects(item) for key, item in value.items()})
    return [as_objects(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("form", [lambda c: c, as_objects], ids=["dicts", "objects"])
def test_openai_chunks_yielded_by_a_generator(memory: MemoryExporter, form: Any) -> None:
    """The caller receives the same five objects; usage 5/2 is recorded, and absent when not said, never 0."""
    given = [form(c) for c in CHUNKS]

    @traced
    def agent(chunks: list[Any]) -> Iterator[Any]:
        yield from chunks

    passed = list(agent(given))
    assert all(a is b for a, b in zip(passed, given, strict=True))
    assert list(agent(given[:-1])) == given[:-1]
    full, silent = memory.spans
    assert recorded(full, "output") == recorded(silent, "output") == "ab"
    assert attributes(full)["gen_ai.usage.input_tokens"] == 5
    assert not [name for name in attributes(silent) if name.startswith("gen_ai.usage")]


def test_other_streams_of_openai(memory: MemoryExporter) -> None:
    """Tool calls, several choices, refusals, legacy completions and the Responses API are put together."""

    @traced
    def agent(chunks: list[Any]) -> Iterator[Any]:
        yield from chunks

    def outcome(chunks: list[Any]) -> Any:
        memory.clear()
        list(agent(chunks))
        return recorded(only(memory), "output")

    def delta(index: int = 0, **fields: Any) -> dict[str, Any]:
        return chunk(choices=[{"index": index, "delta": fields}])

    def call(**fields: Any) -> dict[str, Any]:
        return delta(tool_calls=[{"index": 0, **fields}])

    assert outcome(
        [
            call(id="t1", function={"name": "look", "arguments": ""}),
            call(function={"arguments": '{"a"'}),
            call(function={"arguments": ": 1}"}),
        ]
    ) == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "t1", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}
        ],
    }
    assert outcome([delta(0, content="a"), delta(1, content="x"), delta(0, content="b")]) == ["ab", "x"]
    assert outcome([delta(refusal="I "), delta(refusal="won't")]) == "I won't"
    assert (
        outcome([{"object": "text_completion", "choices": [{"index": 0, "text": t}]} for t in "ab"]) == "ab"
    )
    done = {"type": "response.completed", "response": {"usage": {"input_tokens": 3, "output_tokens": 0}}}
    events = [
        {"type": "response.created"},
        *({"type": "response.output_text.delta", "delta": t} for t in "ab"),
        done,
    ]
    assert outcome(events) == "ab"
    assert attributes(only(memory))["gen_ai.usage.input_tokens"] == 3
    assert attributes(only(memory))["gen_ai.usage.output_tokens"] == 0
    assert outcome([delta(content=None)]) == ""


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        (["a", "b"], "ab"),
        (["a", None, "b", None], "ab"),
        ([None], [None]),
        ([], []),
        ([b"a", b"b"], "ab"),
        ([1, 2], [1, 2]),
        ([0, "", False, None], [0, "", False, None]),
        ([{"n": 1}, {"n": 2}], [{"n": 1}, {"n": 2}]),
        (["a", {"n": 1}], ["a", {"n": 1}]),
        ([{"choices": ["a", "b"]}], [{"choices": ["a", "b"]}]),
    ],
)
def test_default_reduction(memory: MemoryExporter, chunks: list[Any], expected: Any) -> None:
    """Texts are joined, and so are bytes; anything else stays a list."""
    assert list(traced(lambda: iter(chunks))()) == chunks
    assert recorded(only(memory), "output") == expected


def test_a_reduce_of_ones_own(memory: MemoryExporter) -> None:
    """``reduce`` gets all chunks, as they were, and what it gives is the output."""
    chunks = [{"n": 1}, {"n": 2}]

    @traced(reduce=lambda seen: {"sum": sum(c["n"] for c in seen)})
    def agent() -> Iterator[dict[str, int]]:
        yield from chunks

    for passed in agent():
        passed["n"] = 100
    assert recorded(only(memory), "output") == {"sum": 3}


def test_a_failing_reduce_is_our_trouble(memory: MemoryExporter, caplog: pytest.LogCaptureFixture) -> None:
    """The caller does not notice; the default reduction steps in, with one warning."""

    @traced(reduce=lambda seen: 1 / 0)
    def agent() -> Iterator[str]:
        yield "a"
        yield "b"

    assert list(agent()) == list(agent()) == ["a", "b"]
    assert [recorded(span, "output") for span in memory.spans] == ["ab", "ab"]
    assert len(caplog.records) == 1


def test_a_chunk_is_recorded_as_it_passed(memory: MemoryExporter) -> None:
    """comet-ml/opik#2225, comet-ml/opik#1685: what the consumer does to a chunk later does not show."""

    @traced
    def agent() -> Iterator[dict[str, Any]]:
        yield {"text": "a"}
        yield {"text": "b"}

    for passed in agent():
        passed["text"] = "changed"
    assert recorded(only(memory), "output") == [{"text": "a"}, {"text": "b"}]
