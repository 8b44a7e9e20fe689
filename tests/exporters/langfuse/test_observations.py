"""Observations as the spans they were: whose words they are, whatever framework made them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.exporters.langfuse.making import START, calls, observation, put, source
from tests.fake_langfuse import FakeLangfuse
from tests.fake_langfuse.fixtures import any_langfuse
from tests.stored import span_id
from tracehooks.calls import agent_calls
from tracehooks.exporters.langfuse.observations import span_records, split_metadata

__all__ = ["any_langfuse"]

DATA = Path(__file__).parents[2] / "calls" / "data"
QUESTION = "Where is parcel 7 now?"
ANSWER = "Parcel 7 left Hamburg this morning."
FROM_BELOW = {"openai-agents"}


def _exported(name: str, server: FakeLangfuse) -> None:
    """Put an exported trace into ``server``, its observations one after the other as they were."""
    exported = json.loads((DATA / f"{name}.json").read_text())["observations"]
    numbers = {each["id"]: place for place, each in enumerate(exported, start=1)}
    put(
        server,
        [
            observation(
                numbers[each["id"]],
                1,
                numbers.get(each.get("parentObservationId")),
                at=numbers[each["id"]],
                type=each["type"],
                name=each["name"],
                input=_text(each.get("input")),
                output=_text(each.get("output")),
                metadata=each.get("metadata") or {"scope": {"name": "langfuse-sdk"}},
            )
            for each in exported
        ],
    )


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


@pytest.mark.parametrize("name", sorted(path.stem for path in DATA.glob("*.json")))
def test_question_and_answer_of_an_exported_trace_are_found(any_langfuse: FakeLangfuse, name: str) -> None:
    """Five frameworks put them in five places; one leaves the top of the trace empty."""
    _exported(name, any_langfuse)
    found = calls(source(any_langfuse))
    assert [(call.input, call.output) for call in found] == [(QUESTION, ANSWER)]
    assert (found[0].text_source or "").startswith(
        "child span" if name in FROM_BELOW else "langfuse.observation"
    )


def _call(**fields: Any) -> Any:
    row = {
        "id": span_id(1),
        "traceId": "a" * 32,
        "type": "AGENT",
        "name": "bot",
        "startTime": "2026-11-29T12:00:00.000Z",
    }
    (call,) = agent_calls(span_records([{**row, **fields}]))
    return call


def test_what_the_server_knows_of_a_call_is_kept() -> None:
    """Session, user, tags, version, environment, metadata, level and what failed."""
    call = _call(
        endTime="2026-11-29T12:00:01.250Z",
        level="ERROR",
        statusMessage="out of memory",
        environment="staging",
        userId="u-1",
        sessionId="s-1",
        version="2",
        release="r-1",
        tags=["beta"],
        metadata={"plan": "pro", "scope.name": "langfuse-sdk", "resourceAttributes.service.name": "shop"},
        output="Sorry.",
    )
    assert (call.environment, call.user_id, call.session_id, call.version) == ("staging", "u-1", "s-1", "2")
    assert (call.tags, dict(call.metadata), call.service) == (("beta",), {"plan": "pro"}, "shop")
    assert (call.error, call.start, (call.end - call.start).total_seconds()) == ("out of memory", START, 1.25)


def test_metadata_is_read_flat_and_nested() -> None:
    """v2 reads give it flat, v1 reads as it was."""
    flat = {"attributes.gen_ai.agent.name": "bot", "scope.name": "s", "own": 1}
    nested = {"attributes": {"gen_ai.agent.name": "bot"}, "scope": {"name": "s"}, "own": 1}
    assert split_metadata(flat) == split_metadata(nested) == split_metadata(json.dumps(nested))
    assert split_metadata(None) == split_metadata("no JSON") == split_metadata({})


def test_a_text_that_the_server_cut_is_nobodys_words() -> None:
    """v2 reads cut metadata at 200 characters; half an answer is not judged as if it were whole."""
    cut = {"attributes.final_result": "x" * 200, "attributes.agent_name": "poet", "scope.name": "pydantic-ai"}
    assert _call(metadata={**cut, "attributes.model_name": "m"}).output is None
    whole = {**cut, "attributes.final_result": "x" * 250, "attributes.model_name": "m"}
    assert _call(metadata=whole).output == "x" * 250


def test_of_an_observation_that_comes_twice_the_newer_counts() -> None:
    """A server that has not merged its parts yet may give an old version of a row too."""
    old = {"updatedAt": "2026-11-29T12:00:01.000Z", "output": "draft"}
    new = {"updatedAt": "2026-11-29T12:00:02.000Z", "output": "final"}
    row = {"id": span_id(1), "traceId": "a" * 32, "type": "AGENT", "startTime": "2026-11-29T12:00:00.000Z"}
    for pair in ((old, new), (new, old)):
        (call,) = agent_calls(span_records([{**row, **each} for each in pair]))
        assert call.output == "final"


def test_texts_are_masked_before_they_are_kept() -> None:
    """The setting ``mask`` says what never gets recorded here, wherever it comes from."""
    row = {"id": span_id(1), "traceId": "a" * 32, "type": "AGENT", "startTime": "2026-11-29T12:00:00.000Z"}
    (span,) = span_records(
        [{**row, "output": "key-123"}], mask=lambda text: text.replace("key-123", "[masked]")
    )
    assert "key-123" not in str(span)


SHAPES: Mapping[str, Any] = {
    "plain": ANSWER,
    "json string": json.dumps(ANSWER),
    "json twice": json.dumps(json.dumps({"output": ANSWER})),
    "openai chat": {
        "choices": [{"message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}]
    },
    "openai chat messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": ANSWER}],
    "openai responses": {
        "object": "response",
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]},
        ],
    },
    "openai responses items": [
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": ANSWER, "annotations": []}],
        }
    ],
    "genai": [{"role": "assistant", "parts": [{"type": "text", "content": ANSWER}], "finish_reason": "stop"}],
    "langchain message": {"content": ANSWER, "additional_kwargs": {}, "response_metadata": {}, "type": "ai"},
    "langchain parts": {
        "content": [{"type": "text", "text": ANSWER}, {"type": "tool_use", "name": "x", "input": {}}],
        "type": "ai",
    },
    "langchain constructor": {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "AIMessage"],
        "kwargs": {"content": ANSWER},
    },
    "langchain generations": {
        "generations": [[{"text": ANSWER, "message": {"type": "ai", "content": ANSWER}}]]
    },
    "langgraph": {
        "messages": [
            {"type": "human", "content": "x"},
            {"type": "ai", "content": "", "tool_calls": [{}]},
            {"type": "tool", "content": "y"},
            {"type": "ai", "content": ANSWER},
        ]
    },
    "langgraph update": {"agent": {"messages": [{"type": "ai", "content": ANSWER}]}},
    "openai agents": {"final_output": ANSWER, "new_items": [], "raw_responses": []},
    "pydantic ai": [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "x"}]},
        {"kind": "response", "parts": [{"part_kind": "text", "content": ANSWER}]},
    ],
    "google": {
        "candidates": [{"content": {"parts": [{"text": ANSWER}], "role": "model"}, "finish_reason": "STOP"}]
    },
    "google thought": {
        "candidates": [
            {"content": {"parts": [{"text": "hm", "thought": True}, {"text": ANSWER}], "role": "model"}}
        ]
    },
    "google adk": {"content": {"parts": [{"text": ANSWER}], "role": "model"}, "partial": False},
    "bedrock converse": {
        "output": {"message": {"role": "assistant", "content": [{"text": ANSWER}]}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 1},
    },
    "bedrock titan": {
        "results": [{"outputText": ANSWER, "completionReason": "FINISH"}],
        "inputTextTokenCount": 1,
    },
    "bedrock llama": {"generation": ANSWER, "stop_reason": "stop", "prompt_token_count": 1},
    "anthropic": {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": ANSWER}],
    },
    "llama index": {"response": ANSWER, "source_nodes": [], "metadata": {}},
    "llama index chat": {
        "message": {"role": "assistant", "blocks": [{"block_type": "text", "text": ANSWER}]},
        "raw": {},
    },
    "vercel text": {"text": ANSWER, "toolCalls": [], "finishReason": "stop"},
    "vercel steps": {"steps": [{"text": "", "toolCalls": [{}]}, {"text": ANSWER}], "text": ANSWER},
    "vercel messages": [
        {
            "role": "assistant",
            "content": [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": ANSWER}],
        }
    ],
    "autogen": {
        "messages": [
            {"source": "user", "content": "x", "type": "TextMessage"},
            {"source": "bot", "content": ANSWER, "type": "TextMessage"},
        ],
        "stop_reason": None,
    },
    "semantic kernel": [
        {"role": "assistant", "items": [{"content_type": "text", "text": ANSWER}], "name": "bot"}
    ],
    "crewai": {"raw": ANSWER, "pydantic": None, "json_dict": None, "tasks_output": []},
    "haystack": {"llm": {"replies": [ANSWER], "meta": [{}]}},
    "cohere": {"text": ANSWER, "generation_id": "g", "finish_reason": "COMPLETE"},
    "ollama": {"model": "m", "message": {"role": "assistant", "content": ANSWER}, "done": True},
    "ollama generate": {"model": "m", "response": ANSWER, "done": True},
    "own": {"reply": ANSWER, "confidence": 0.9},
    "nested result": {"result": {"answer": {"text": ANSWER}}},
    "data": {"data": {"answer": ANSWER}, "status": "ok"},
    "think": f"<think>hm</think>\n{ANSWER}",
}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_answer_is_found_in_any_shape(shape: str) -> None:
    """As text, as JSON in text, and as what its JSON says."""
    value = SHAPES[shape]
    encoded = value if isinstance(value, str) else json.dumps(value)
    assert (_call(output=encoded).output or "").strip() == ANSWER
    assert (_call(output=value).output or "").strip() == ANSWER
    assert (_call(output=json.dumps(encoded)).output or "").strip() == ANSWER


SILENCES: Mapping[str, Any] = {
    "nothing": None,
    "empty": "",
    "blank": "  \n",
    "null": "null",
    "openai tool call": {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "function": {"name": "f"}}],
    },
    "genai tool call": [
        {"role": "assistant", "parts": [{"type": "tool_call", "name": "f", "arguments": {"q": "x"}}]}
    ],
    "anthropic tool use": {
        "role": "assistant",
        "content": [{"type": "tool_use", "name": "f", "input": {"q": "x"}}],
    },
    "google function call": {
        "candidates": [{"content": {"role": "model", "parts": [{"functionCall": {"name": "f"}}]}}]
    },
    "responses function call": {"object": "response", "output": [{"type": "function_call", "name": "f"}]},
    "vercel tool call": [
        {"role": "assistant", "content": [{"type": "tool-call", "toolName": "f", "args": {}}]}
    ],
    "only the user": [{"role": "user", "content": "You idiot."}],
}


@pytest.mark.parametrize("shape", SILENCES, ids=str)
def test_a_tool_call_or_somebody_elses_words_are_no_answer(shape: str) -> None:
    """Nothing was said, and nothing is judged, vibrantlabsai/ragas#1383."""
    value = SILENCES[shape]
    assert _call(output=value).output is None
    assert _call(output=json.dumps(value)).output is None


def test_a_teams_own_path_wins(any_langfuse: FakeLangfuse) -> None:
    """The setting ``text`` names the place, and the call says so."""
    output = json.dumps({"answer": "internal note", "reply": ANSWER})
    put(any_langfuse, [observation(1, 1, output=output)])
    (call,) = calls(source(any_langfuse, text="$.output.reply"))
    assert (call.output, call.text_source) == (ANSWER, "$.output.reply (the setting text)")
