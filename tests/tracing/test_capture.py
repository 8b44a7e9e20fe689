"""When arguments and results are recorded: as they were, untouched, and only when they are asked for."""

import asyncio
import pathlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

import orjson
import pytest
from opentelemetry.sdk.trace import ReadableSpan

import tracehooks
from tests.tracing.spans import attributes, only, recorded
from tracehooks import traced
from tracehooks.testing import MemoryExporter


@traced
def agent(value: Any) -> Any:
    return value


@traced
def swallow(value: Any) -> None:
    return None


def test_iterators_and_files_are_not_consumed(memory: MemoryExporter, tmp_path: pathlib.Path) -> None:
    """langchain-ai/langchain#12141: a generator argument keeps its items, a file its position."""
    path = tmp_path / "f"
    path.write_text("line")
    numbers = (n for n in range(3))
    with path.open() as file:
        swallow([numbers, file, iter([1]), map(str, [1]), zip([1], [2], strict=True)])
        assert file.read() == "line"
    assert list(numbers) == [0, 1, 2]
    assert recorded(only(memory), "input") == {
        "value": ["<generator>", "<_io.TextIOWrapper>", "<list_iterator>", "<map>", "<zip>"]
    }


def test_arguments_are_written_out_before_the_call(memory: MemoryExporter) -> None:
    """comet-ml/opik#2225, comet-ml/opik#1685: what the function or the caller appends later is not there."""
    messages = [{"role": "user", "content": "hi"}]

    def reply(messages: list[dict[str, str]]) -> str:
        messages.append({"role": "assistant", "content": "hello"})
        return "hello"

    async def areply(messages: list[dict[str, str]]) -> str:
        return reply(messages)

    def stream(messages: list[dict[str, str]]) -> Iterator[str]:
        yield reply(messages)

    async def astream(messages: list[dict[str, str]]) -> AsyncIterator[str]:
        yield reply(messages)

    async def consume() -> None:
        async for _ in traced(astream)(list(messages)):
            pass

    traced(reply)(list(messages))
    asyncio.run(traced(areply)(list(messages)))
    list(traced(stream)(list(messages)))
    asyncio.run(consume())
    assert [recorded(span, "input") for span in memory.spans] == [{"messages": messages}] * 4


def test_results_are_written_out_at_the_end(memory: MemoryExporter) -> None:
    """What the caller does to a result later is not recorded."""
    result = traced(lambda: {"a": [1]})()
    result["a"].append(2)
    assert recorded(only(memory), "output") == {"a": [1]}


@pytest.mark.parametrize(("which", "kept"), [("capture_input", "output"), ("capture_output", "input")])
def test_capture_can_be_turned_off(memory: MemoryExporter, which: str, kept: str) -> None:
    """Nothing of the arguments, or of the result or chunks, is recorded then; nor handed to hooks."""
    heard: list[Any] = []
    pipeline = tracehooks.runtime.pipeline()
    assert pipeline is not None
    pipeline.listen(lambda span, full, hooks: heard.append(full))
    options: Any = {which: False}

    @traced(**options)
    def plain(value: str) -> str:
        return value

    @traced(**options)
    def stream(value: str) -> Iterator[str]:
        yield value

    plain("secret" * 100_000)
    list(stream("secret" * 100_000))
    off = "input" if kept == "output" else "output"
    for span, full in zip(memory.spans, heard, strict=True):
        assert f"tracehooks.{kept}" in attributes(span)
        assert not [name for name in attributes(span) if off in name]
        assert getattr(full, off) is None


def test_messages_follow_the_conventions(memory: MemoryExporter) -> None:
    """Texts and chats become messages of the GenAI conventions; other shapes do not."""

    def messages(value: Any, side: str) -> Any:
        memory.clear()
        agent(value)
        found = attributes(only(memory)).get(f"gen_ai.{side}.messages")
        return None if found is None else orjson.loads(found)

    def text(role: str, content: str) -> dict[str, Any]:
        return {"role": role, "parts": [{"type": "text", "content": content}]}

    chat = [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "function": {"name": "look", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "found"},
    ]
    called = {"type": "tool_call", "id": "1", "name": "look", "arguments": "{}"}
    answered = {"type": "tool_call_response", "id": "1", "response": "found"}
    expected = [
        text("system", "be kind"),
        text("user", "hi"),
        {"role": "assistant", "parts": [called]},
        {"role": "tool", "parts": [answered]},
    ]
    assert messages(chat, "input") == messages(chat, "output") == expected
    assert messages("hi", "input") == [text("user", "hi")]
    assert messages("hi", "output") == [{**text("assistant", "hi"), "finish_reason": "stop"}]
    reply = {"role": "assistant", "content": "hello"}
    assert messages(reply, "output") == [text("assistant", "hello")]
    completion = {
        "choices": [{"message": reply, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    }
    assert messages(completion, "output") == [{**text("assistant", "hello"), "finish_reason": "length"}]
    assert attributes(only(memory))["gen_ai.usage.output_tokens"] == 2
    response = {"output": [{"type": "message", "role": "assistant", "content": reply["content"]}]}
    assert messages(response, "output") == [text("assistant", "hello")]
    others: list[Any] = [7, None, {"a": 1}, ["a"], [{"content": "x"}], {"output": "x"}, {"choices": []}]
    for other in others:
        assert messages(other, "output") is None


def test_the_users_text_is_found_among_arguments(memory: MemoryExporter) -> None:
    """Of several texts the one with a telling name is the user's; without one there is no guess."""

    @traced
    def ask(user_id: str, question: str) -> str:
        return "a"

    @traced
    def pick(left: str, right: str) -> str:
        return "a"

    ask("u-1", "why?")
    pick("x", "y")
    asked, picked = memory.spans
    assert orjson.loads(attributes(asked)["gen_ai.input.messages"])[0]["parts"][0]["content"] == "why?"
    assert "gen_ai.input.messages" not in attributes(picked)


def test_arguments_are_not_touched_when_nobody_records(memory: MemoryExporter) -> None:
    """An unsampled call never looks at its arguments."""
    from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

    tracehooks.init({"store": ""}, tracer_provider=memory.provider(sampler=ALWAYS_OFF))
    touched: list[str] = []

    class Watched(dict[str, int]):
        def items(self) -> Any:
            touched.append("items")
            return super().items()

        def __str__(self) -> str:
            touched.append("str")
            return ""

    swallow(Watched(a=1))
    assert touched == []


def test_a_spans_times_are_those_of_the_function(memory: MemoryExporter) -> None:
    """Writing out a large result is not part of the call's duration."""

    @traced
    def quick() -> str:
        return big

    big = "x" * 100_000_000
    quick()
    span: ReadableSpan = only(memory)
    assert span.start_time is not None
    assert span.end_time is not None
    assert span.end_time - span.start_time < 50_000_000
