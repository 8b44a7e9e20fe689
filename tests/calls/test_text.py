"""The agent's and the user's words in the shapes of many frameworks."""

import json
from typing import Any

import pytest

from tests.calls.frameworks import CALL, SYSTEM, THOUGHT, TOOL, lc
from tracehooks.calls.text import Shape, agent_words

ANSWERS: dict[str, Any] = {
    "openai chat completion": {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "m",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}
        ],
        "usage": {"total_tokens": 3},
    },
    "openai chat choice without a role": {"choices": [{"message": {"content": "hello"}}]},
    "openai text completion": {"object": "text_completion", "choices": [{"text": "hello", "index": 0}]},
    "openai stream": [
        {"object": "chat.completion.chunk", "choices": [{"delta": {"role": "assistant", "content": ""}}]},
        {"object": "chat.completion.chunk", "choices": [{"delta": {"content": "hel"}}]},
        {"object": "chat.completion.chunk", "choices": [{"delta": {"content": None}}]},
        {"object": "chat.completion.chunk", "choices": [{"delta": {"content": "lo"}}]},
        {"object": "chat.completion.chunk", "choices": [], "usage": {"total_tokens": 3}},
    ],
    "openai refusal": {"role": "assistant", "content": None, "refusal": "hello"},
    "openai refusal part": {"role": "assistant", "content": [{"type": "refusal", "refusal": "hello"}]},
    "openai response": {
        "object": "response",
        "instructions": SYSTEM,
        "output": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": THOUGHT}]},
            {"type": "function_call", "name": "find", "arguments": "{}", "call_id": "c1"},
            {"type": "function_call_output", "output": TOOL, "call_id": "c1"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hello"}]},
        ],
        "text": {"format": {"type": "text"}},
    },
    "openai agents result": {"input": "hi", "final_output": "hello", "new_items": [{"raw_item": TOOL}]},
    "anthropic": {
        "type": "message",
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": THOUGHT},
            {"type": "tool_use", "name": "find", "input": {"q": TOOL}},
            {"type": "text", "text": "hello"},
        ],
    },
    "genai messages": [
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "1", "name": "find", "arguments": {"q": TOOL}}],
        },
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": TOOL}]},
        {
            "role": "assistant",
            "parts": [{"type": "reasoning", "content": THOUGHT}, {"type": "text", "content": "hello"}],
            "finish_reason": "stop",
        },
    ],
    "genai choice event": {
        "event.name": "gen_ai.choice",
        "message": {"role": "assistant", "content": "hello"},
    },
    "langgraph state": {
        "messages": [
            {"type": "system", "content": SYSTEM},
            {"type": "human", "content": "hi"},
            {"type": "ai", "content": "", "tool_calls": [{"name": "find", "args": {}}]},
            {"type": "tool", "content": TOOL},
            {"type": "ai", "content": "hello"},
        ]
    },
    "langgraph messages with data": {
        "messages": [
            {"type": "human", "data": {"content": "hi", "type": "human"}},
            {"type": "tool", "data": {"content": TOOL, "type": "tool"}},
            {"type": "ai", "data": {"content": "hello", "type": "ai"}},
        ]
    },
    "langgraph messages serialised": {
        "messages": [lc("HumanMessage", "hi"), lc("ToolMessage", TOOL), lc("AIMessageChunk", "hello")]
    },
    "langgraph updates": [
        {"agent": {"messages": [lc("AIMessage", "")]}},
        {"tools": {"messages": [lc("ToolMessage", TOOL)]}},
        {"agent": {"messages": [lc("AIMessage", "hello")]}},
    ],
    "langgraph command": [{"graph": None, "update": {"messages": [lc("AIMessage", "hello")]}, "goto": []}],
    "langchain llm result": {
        "generations": [[{"text": "hello", "type": "ChatGeneration", "message": lc("AIMessage", "hello")}]],
        "llm_output": {"model_name": "m"},
    },
    "langchain plain llm result": {"generations": [[{"text": "hello", "generation_info": None}]]},
    "langchain agent executor": {"input": "hi", "chat_history": [], "output": "hello"},
    "langchain agent finish": {"return_values": {"output": "hello"}, "log": THOUGHT},
    "langchain content blocks": lc(
        "AIMessage", [{"type": "thinking", "thinking": THOUGHT}, {"type": "text", "text": "hello"}]
    ),
    "langchain pairs": [["system", SYSTEM], ["human", "hi"], ["ai", "hello"]],
    "pydantic ai messages": [
        {
            "kind": "request",
            "parts": [
                {"part_kind": "system-prompt", "content": SYSTEM},
                {"part_kind": "user-prompt", "content": "hi"},
            ],
        },
        {"kind": "response", "parts": [{"part_kind": "tool-call", "tool_name": "find", "args": {"q": TOOL}}]},
        {"kind": "request", "parts": [{"part_kind": "tool-return", "content": TOOL}]},
        {
            "kind": "response",
            "parts": [
                {"part_kind": "thinking", "content": THOUGHT},
                {"part_kind": "text", "content": "hello"},
            ],
        },
    ],
    "pydantic ai events": [
        {"event.name": "gen_ai.system.message", "content": SYSTEM, "role": "system"},
        {"event.name": "gen_ai.user.message", "content": "hi", "role": "user"},
        {"event.name": "gen_ai.tool.message", "content": TOOL, "role": "tool", "id": "1"},
        {"event.name": "gen_ai.assistant.message", "content": "hello", "role": "assistant"},
    ],
    "google response": {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [{"text": THOUGHT, "thought": True}, {"text": "hello"}],
                },
                "finishReason": "STOP",
            }
        ],
        "modelVersion": "g",
    },
    "google pieces": {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "hel"}, {"text": "lo"}]}}]
    },
    "google adk event": {"content": {"role": "model", "parts": [{"text": "hello"}]}, "author": "bot"},
    "bedrock converse": {
        "output": {
            "message": {
                "role": "assistant",
                "content": [{"reasoningContent": {"reasoningText": {"text": THOUGHT}}}, {"text": "hello"}],
            }
        },
        "stopReason": "end_turn",
        "usage": {"inputTokens": 3},
    },
    "llamaindex chat response": {
        "message": {
            "role": "assistant",
            "additional_kwargs": {},
            "blocks": [{"block_type": "text", "text": "hello"}],
        },
        "raw": {"id": "x"},
    },
    "llamaindex agent output": {
        "response": {"role": "assistant", "blocks": [{"block_type": "text", "text": "hello"}]},
        "tool_calls": [{"tool_name": "find", "tool_kwargs": {"q": TOOL}}],
        "current_agent_name": "bot",
    },
    "llamaindex query response": {
        "response": "hello",
        "source_nodes": [{"node": {"text": TOOL}}],
        "metadata": {},
    },
    "vercel messages": [
        {"role": "assistant", "content": [{"type": "tool-call", "toolName": "find", "args": {"q": TOOL}}]},
        {"role": "tool", "content": [{"type": "tool-result", "result": TOOL}]},
        {
            "role": "assistant",
            "content": [{"type": "reasoning", "text": THOUGHT}, {"type": "text", "text": "hello"}],
        },
    ],
    "autogen task result": {
        "messages": [
            {"source": "user", "content": "hi", "type": "TextMessage"},
            {
                "source": "bot",
                "content": [{"id": "1", "name": "find", "arguments": TOOL}],
                "type": "ToolCallRequestEvent",
            },
            {
                "source": "bot",
                "content": [{"content": TOOL, "call_id": "1"}],
                "type": "ToolCallExecutionEvent",
            },
            {"source": "bot", "content": TOOL, "type": "ToolCallSummaryMessage"},
            {"source": "bot", "content": THOUGHT, "type": "ThoughtEvent"},
            {"source": "bot", "content": "hello", "type": "TextMessage"},
            {"source": "user_proxy", "content": "APPROVE", "type": "TextMessage"},
        ],
        "stop_reason": "approved",
    },
    "autogen response": {
        "chat_message": {"source": "bot", "content": "hello", "type": "TextMessage"},
        "inner_messages": [{"source": "bot", "content": TOOL, "type": "ToolCallExecutionEvent"}],
    },
    "autogen printed": [
        "id='1' source='user' models_usage=None metadata={} content='hi' type='TextMessage'",
        f"id='2' source='bot' models_usage=None metadata={{}} content='{TOOL}' type='ToolCallSummaryMessage'",
        "id='3' source='bot' models_usage=None metadata={} content='hello' type='TextMessage'",
    ],
    "semantic kernel": [
        {
            "role": "assistant",
            "items": [{"content_type": "function_call", "name": "find", "arguments": TOOL}],
        },
        {"role": "tool", "items": [{"content_type": "function_result", "result": TOOL}]},
        {"role": {"value": "assistant"}, "items": [{"content_type": "text", "text": "hello"}]},
    ],
    "semantic kernel completion": [
        {"message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}
    ],
    "haystack": {"replies": [{"role": "assistant", "content": [{"text": "hello"}], "meta": {"model": "m"}}]},
    "haystack pipeline": {"retriever": {"documents": [{"content": TOOL}]}, "llm": {"replies": ["hello"]}},
    "haystack printed": {
        "messages": [
            f"ChatMessage(_role=<ChatRole.SYSTEM: 'system'>, _content=[TextContent(text='{SYSTEM}')])",
            "ChatMessage(_role=<ChatRole.USER: 'user'>, _content=[TextContent(text='hi')], _name=None)",
            f"ChatMessage(_role=<ChatRole.TOOL: 'tool'>, _content=[ToolCallResult(result='{TOOL}')])",
            "ChatMessage(_role=<ChatRole.ASSISTANT: 'assistant'>, _content=[TextContent(text='hello')])",
        ]
    },
    "crewai": {
        "raw": "hello",
        "pydantic": None,
        "tasks_output": [{"raw": "draft", "messages": [{"role": "system", "content": SYSTEM}]}],
        "token_usage": {"total_tokens": 3},
    },
    "agno": {"content": "hello", "content_type": "str", "messages": [{"role": "system", "content": SYSTEM}]},
    "a2a": {"kind": "message", "role": "agent", "parts": [{"kind": "text", "text": "hello"}]},
    "role as printed": [
        {"role": "MessageRole.USER", "content": "hi"},
        {"role": "MessageRole.ASSISTANT", "content": "hello"},
    ],
    "thoughts in the text": {"role": "assistant", "content": f"<think>{THOUGHT}</think>\n\nhello"},
}


@pytest.mark.parametrize("name", ANSWERS)
def test_the_agents_last_words_are_found(name: str) -> None:
    """In the value itself, in its JSON, and in JSON inside JSON."""
    value = ANSWERS[name]
    for form in (value, json.dumps(value), json.dumps(json.dumps(value))):
        words = agent_words(form)
        assert words.text == "hello"
        assert not words.cut


SILENT: dict[str, Any] = {
    "tool call only": {"role": "assistant", "content": None, "tool_calls": [CALL]},
    "tool call without content": {"role": "assistant", "tool_calls": [CALL]},
    "tool call, blank": [{"role": "assistant", "content": "  ", "tool_calls": [CALL]}],
    "completion that calls a tool": {
        "choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [CALL]}}]
    },
    "response that calls a tool": {
        "object": "response",
        "output": [{"type": "function_call", "name": "find", "arguments": TOOL}],
        "text": {"format": {"type": "text"}},
        "instructions": SYSTEM,
    },
    "response without output": {"object": "response", "output": [], "instructions": SYSTEM},
    "genai tool call": [
        {"role": "assistant", "parts": [{"type": "tool_call", "name": "find", "arguments": TOOL}]}
    ],
    "only reasoning": [{"role": "assistant", "parts": [{"type": "reasoning", "content": THOUGHT}]}],
    "only thoughts": f"<think>{THOUGHT}</think>  ",
    "google tool call": {
        "candidates": [{"content": {"role": "model", "parts": [{"functionCall": {"name": "find"}}]}}]
    },
    "google safety": {"candidates": [{"content": None, "finishReason": "SAFETY"}]},
    "bedrock tool use": {
        "output": {"message": {"role": "assistant", "content": [{"toolUse": {"name": "find"}}]}}
    },
    "only the user": [{"role": "user", "content": "hi"}],
    "only a system prompt": {"role": "system", "content": SYSTEM},
    "only tool output": {"type": "tool", "content": TOOL, "tool_call_id": "1"},
    "an answer of an earlier round": {
        "messages": [
            {"type": "human", "content": "hi"},
            {"type": "ai", "content": "an old answer"},
            {"type": "human", "content": "and now?"},
            {"type": "ai", "content": "", "tool_calls": [{"name": "find"}]},
            {"type": "tool", "content": TOOL},
        ]
    },
    "an image": {"role": "assistant", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]},
    "blank": " \n\t",
    "zero width": "\u200b",
    "a byte order mark and fillers": "\ufeff \u2060\u3164\ufe0f",
    "a message of zero width": [{"role": "assistant", "content": "\u200b\u200d"}],
    "an object of zero width": {"note": "\u200b"},
    "zero width after the reasoning": "<think>hm</think>\u200b",
    "empty": "",
    "null": None,
    "numbers": [1, 2.5, True, None],
}


@pytest.mark.parametrize("name", SILENT)
def test_nothing_said_is_nothing(name: str) -> None:
    """vibrantlabsai/ragas#1383, confident-ai/deepeval#489: a message without words holds nothing to judge."""
    assert agent_words(SILENT[name]).text is None
    assert agent_words(json.dumps(SILENT[name])).text is None


def test_a_user_turn_without_words_is_no_new_round() -> None:
    """Tool results come as the user's turn in some frameworks; the answer before them is this round's."""
    for result in (
        {"role": "user", "content": [{"type": "tool_result", "content": TOOL}]},
        {"role": "user", "parts": [{"type": "tool_call_response", "response": TOOL}]},
        {"role": "user", "parts": [{"functionResponse": {"response": TOOL}}]},
    ):
        spoken = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "let me look"}, result]
        assert agent_words(spoken).text == "let me look"


def test_several_texts_of_one_message_are_all_heard() -> None:
    """One line each; pieces without a type are one text."""
    parts = [{"type": "text", "text": "one"}, {"type": "image", "data": "x"}, {"type": "text", "text": "two"}]
    assert agent_words({"role": "assistant", "content": parts}).text == "one\ntwo"
    assert agent_words({"role": "model", "parts": [{"text": "on"}, {"text": "e"}]}).text == "one"


def test_what_python_writes_and_json_forbids_is_read() -> None:
    """mlflow/mlflow#24123, simonw/llm#546: half a surrogate pair, NaN and huge numbers hide nothing."""
    half = '[{"role":"system","content":"SYSTEM-CANARY"},{"role":"assistant","content":"ok \\ud83e"}]'
    assert agent_words(half).text == "ok \ufffd"
    assert agent_words('{"output":"ok","score":NaN}') == agent_words({"output": "ok"})
    assert (
        agent_words({"joke": "ok \ud83e", "n": 2**70}).text
        == '{"joke":"ok \ufffd","n":1180591620717411303424}'
    )
    assert agent_words('{"output":"\\ud83e\\udd16"}').text == "\U0001f916"


def test_the_shape_says_how_sure_the_place_is() -> None:
    """A message is surer than a text, a text surer than an object given whole."""
    assert agent_words({"role": "assistant", "content": "hello"}).shape is Shape.CHAT
    assert agent_words("hello").shape is Shape.TEXT
    assert agent_words({"joke": "hello"}).shape is Shape.JSON
    assert agent_words({"n": 1}).shape is Shape.UNKNOWN


def test_an_application_that_calls_its_own_objects_by_a_role_is_understood() -> None:
    """A dict whose type is agent but which holds an answer is no message."""
    assert agent_words({"type": "agent", "answer": "hello"}).text == "hello"
    assert agent_words({"role": "assistant", "answer": "hello"}).text == "hello"


def test_deep_and_odd_values_end() -> None:
    """Nesting without end, keys that are no strings, values that JSON does not know."""
    deep: Any = "bottom"
    for _ in range(200):
        deep = {"output": deep}
    assert agent_words(deep).text is None
    assert agent_words({"data": {1: "one", "x": object()}}).text is not None
    assert agent_words("[" * 3000).text is not None
