"""Shapes of frameworks that wrap messages in a way of their own, record chunks, or bare parts."""

import itertools
import json
from typing import Any

import pytest

from tracehooks.calls.text import Shape, agent_words, user_words

SYSTEM = "SYSTEM-CANARY"
TOOL = "TOOL-CANARY"
THOUGHT = "THOUGHT-CANARY"

DELTA = {"type": "content_block_delta", "index": 1}
QUESTION = {"role": "user", "kind": "message", "parts": [{"kind": "text", "text": "hi"}]}

ANSWERS: dict[str, Any] = {
    "bedrock converse stream": [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"delta": {"reasoningContent": {"text": THOUGHT}}, "contentBlockIndex": 0}},
        {"contentBlockDelta": {"delta": {"text": "hel"}, "contentBlockIndex": 1}},
        {"contentBlockDelta": {"delta": {"text": "lo"}, "contentBlockIndex": 1}},
        {"contentBlockDelta": {"delta": {"toolUse": {"input": TOOL}}, "contentBlockIndex": 2}},
        {"messageStop": {"stopReason": "end_turn"}},
        {"metadata": {"usage": {"inputTokens": 1}}},
    ],
    "anthropic stream": [
        {"type": "message_start", "message": {"type": "message", "role": "assistant", "content": []}},
        {**DELTA, "delta": {"type": "thinking_delta", "thinking": THOUGHT}},
        {**DELTA, "delta": {"type": "text_delta", "text": "hel"}},
        {**DELTA, "delta": {"type": "text_delta", "text": "lo"}},
        {**DELTA, "delta": {"type": "input_json_delta", "partial_json": TOOL}},
        {"type": "message_stop"},
    ],
    "google stream": [
        {"candidates": [{"content": {"parts": [{"text": THOUGHT, "thought": True}], "role": "model"}}]},
        {"candidates": [{"content": {"parts": [{"text": "hel"}], "role": "model"}}]},
        {"candidates": [{"content": {"parts": [{"text": "lo"}], "role": "model"}}]},
        {"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"totalTokenCount": 3}},
    ],
    "google inline data": {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [
                        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
                        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": TOOL}},
                        {"text": "hello", "thoughtSignature": "x"},
                    ],
                }
            }
        ]
    },
    "bedrock converse with reasoning": {
        "ResponseMetadata": {"RequestId": "1"},
        "output": {
            "message": {
                "role": "assistant",
                "content": [{"reasoningContent": {"reasoningText": {"text": THOUGHT}}}, {"text": "hello"}],
            }
        },
        "stopReason": "end_turn",
    },
    "openai response stream": [
        {
            "type": "response.created",
            "response": {"object": "response", "instructions": SYSTEM, "output": []},
        },
        {"type": "response.reasoning_summary_text.done", "text": THOUGHT},
        {"type": "response.output_text.delta", "delta": "lo"},
        {"type": "response.output_text.done", "text": "lo"},
        {
            "type": "response.completed",
            "response": {
                "object": "response",
                "instructions": SYSTEM,
                "output": [
                    {
                        "type": "message",
                        "role": "assistant",
                        "content": [
                            {"type": "output_text", "text": "hello"},
                        ],
                    }
                ],
            },
        },
    ],
    "openai response stream that was cut": [
        {
            "type": "response.created",
            "response": {"object": "response", "instructions": SYSTEM, "output": []},
        },
        {"type": "response.output_text.done", "text": "hello"},
        {"type": "response.function_call_arguments.done", "arguments": TOOL},
    ],
    "vercel 5 content": [{"type": "reasoning", "text": THOUGHT}, {"type": "text", "text": "hello"}],
    "vercel 5 content with a tool call": [
        {"type": "text", "text": "hello"},
        {"type": "tool-call", "toolCallId": "1", "toolName": "find", "input": TOOL},
    ],
    "vercel ui message": {
        "id": "1",
        "role": "assistant",
        "parts": [
            {"type": "step-start"},
            {"type": "reasoning", "text": THOUGHT, "state": "done"},
            {"type": "tool-find", "toolCallId": "1", "state": "output-available", "output": TOOL},
            {"type": "text", "text": "hello", "state": "done"},
        ],
    },
    "anthropic content alone": [
        {"type": "thinking", "thinking": THOUGHT},
        {"type": "text", "text": "hello"},
        {"type": "tool_use", "id": "1", "name": "find", "input": {"text": TOOL}},
    ],
    "parts as json in the content's string": {
        "role": "assistant",
        "content": json.dumps([{"type": "thinking", "thinking": THOUGHT}, {"type": "text", "text": "hello"}]),
    },
    "openai shell": [
        {"type": "shell_call", "action": {"commands": ["ls"]}},
        {"type": "shell_call_output", "output": [{"stdout": TOOL}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hello"}]},
        {"type": "apply_patch_call_output", "output": TOOL},
    ],
    "openai response, encrypted reasoning, refusal": [
        {"type": "reasoning", "summary": [], "content": None, "encrypted_content": THOUGHT},
        {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "hello"}]},
    ],
    "openai audio": {"role": "assistant", "content": None, "audio": {"id": "a", "transcript": "hello"}},
    "openai assistants thread": {
        "object": "list",
        "data": [
            {
                "object": "thread.message",
                "created_at": 2,
                "role": "assistant",
                "content": [{"type": "text", "text": {"value": "hello", "annotations": []}}],
            },
            {
                "object": "thread.message",
                "created_at": 1,
                "role": "user",
                "content": [{"type": "text", "text": {"value": "hi", "annotations": []}}],
            },
        ],
    },
    "semantic kernel .net": [
        {"Role": {"Label": "tool"}, "Items": [{"$type": "TextContent", "Text": TOOL}]},
        {
            "Role": {"Label": "Assistant"},
            "Items": [{"$type": "TextContent", "Text": "hello"}],
            "ModelId": "m",
        },
    ],
    "semantic kernel .net, camel case": {
        "role": {"label": "Assistant"},
        "items": [{"$type": "TextContent", "text": "hello"}],
    },
    "semantic kernel agent": {
        "message": {
            "content_type": "message",
            "role": "assistant",
            "name": "Host",
            "items": [{"content_type": "text", "text": "hello"}],
        },
        "thread": {"id": "1"},
    },
    "microsoft agent framework": {
        "type": "agent_run_response",
        "messages": [
            {
                "type": "chat_message",
                "role": {"type": "role", "value": "assistant"},
                "contents": [
                    {"type": "text_reasoning", "text": THOUGHT},
                    {"type": "function_call", "name": "find", "arguments": TOOL},
                    {"type": "text", "text": "hello"},
                ],
            }
        ],
    },
    "autogen response": {
        "chat_message": {"source": "a", "models_usage": None, "content": "hello", "type": "TextMessage"},
        "inner_messages": [{"source": "a", "content": THOUGHT, "type": "ThoughtEvent"}],
    },
    "ag2": {
        "chat_id": 1,
        "chat_history": [
            {"content": "hi", "role": "assistant", "name": "user_proxy"},
            {"content": "hello", "role": "user", "name": "bot"},
        ],
        "summary": "hello",
        "cost": {},
        "human_input": [],
    },
    "letta": {
        "messages": [
            {"message_type": "reasoning_message", "reasoning": THOUGHT},
            {"message_type": "assistant_message", "content": "hello"},
            {"message_type": "tool_return_message", "tool_return": TOOL, "content": TOOL},
        ],
        "stop_reason": {"message_type": "stop_reason", "stop_reason": "end_turn"},
    },
    "a2a task": {
        "id": "1",
        "kind": "task",
        "status": {"state": "completed"},
        "artifacts": [{"artifactId": "1", "parts": [{"kind": "text", "text": "hello"}]}],
        "history": [QUESTION],
    },
    "a2a task that asks back": {
        "id": "1",
        "kind": "task",
        "status": {
            "state": "input-required",
            "message": {"role": "agent", "kind": "message", "parts": [{"kind": "text", "text": "hello"}]},
        },
        "history": [QUESTION],
    },
    "haystack answers": {
        "answer_builder": {
            "answers": [{"data": "hello", "query": "hi", "documents": [{"content": TOOL}], "meta": {}}]
        }
    },
    "haystack answers, serialised": {
        "answers": [
            {
                "type": "haystack.dataclasses.answer.GeneratedAnswer",
                "init_parameters": {"data": "hello", "query": "hi", "documents": [{"content": TOOL}]},
            }
        ]
    },
    "haystack 1": {"query": "hi", "answers": [{"answer": "hello", "type": "generative", "context": TOOL}]},
    "haystack agent with reasoning": {
        "messages": [
            {"role": "assistant", "content": [{"tool_call": {"tool_name": "find", "arguments": {}}}]},
            {"role": "tool", "content": [{"tool_call_result": {"result": TOOL, "error": False}}]},
            {
                "role": "assistant",
                "content": [{"reasoning": {"reasoning_text": THOUGHT, "extra": {}}}, {"text": "hello"}],
            },
        ]
    },
    "dspy prediction": {"trajectory": {"observation_0": TOOL}, "reasoning": THOUGHT, "answer": "hello"},
    "dspy printed": f"Prediction(\n    reasoning='{THOUGHT}',\n    joke='hello'\n)",
    "dspy model": [json.dumps({"reasoning": THOUGHT, "answer": "hello"})],
    "crewai task": {
        "description": SYSTEM,
        "raw": "hello",
        "agent": "Writer",
        "messages": [{"role": "assistant", "content": f"Thought: {THOUGHT}\nFinal Answer: hello"}],
    },
    "smolagents' last step": {
        "step_number": 2,
        "model_output_message": {"role": "assistant", "content": THOUGHT},
        "observations": TOOL,
        "action_output": "hello",
        "is_final_answer": True,
    },
    "strands": [
        {"role": "user", "content": [{"text": "hi"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "1", "name": "find"}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "content": [{"text": TOOL}]}}]},
        {"role": "assistant", "content": [{"text": "hello"}]},
    ],
    "mastra": {
        "role": "assistant",
        "content": {
            "format": 2,
            "parts": [
                {"type": "reasoning", "reasoning": THOUGHT, "details": []},
                {"type": "tool-invocation", "toolInvocation": {"state": "result", "result": TOOL}},
                {"type": "text", "text": "hello"},
            ],
        },
    },
    "griptape": {"output": {"type": "TextArtifact", "value": "hello"}, "id": "1"},
    "vapi": [{"role": "system", "message": SYSTEM}, {"role": "bot", "message": "hello"}],
    "langgraph subgraphs": {
        "supervisor": {"next": "writer"},
        "writer": {"messages": [{"type": "human", "content": "hi"}, {"type": "ai", "content": "hello"}]},
    },
    "llamaindex chat response": {
        "message": {
            "role": "assistant",
            "blocks": [
                {"block_type": "thinking", "content": THOUGHT},
                {"block_type": "text", "text": "hello"},
            ],
        },
        "raw": {"choices": []},
        "delta": None,
    },
}


@pytest.mark.parametrize("name", ANSWERS)
def test_the_agents_words_are_found_in_it(name: str) -> None:
    """As a value, as its JSON, and as JSON inside JSON."""
    value = ANSWERS[name]
    once = value if isinstance(value, str) else json.dumps(value)
    assert [agent_words(form).text for form in (value, once, json.dumps(once))] == ["hello"] * 3


SILENT: dict[str, Any] = {
    "bedrock tool use": {"output": {"message": {"role": "assistant", "content": [{"toolUse": {"x": TOOL}}]}}},
    "google function call": {
        "candidates": [{"content": {"parts": [{"functionCall": {"args": {"text": TOOL}}}], "role": "model"}}]
    },
    "autogen model, tool calls": {
        "finish_reason": "function_calls",
        "content": [{"id": "1", "name": "find", "arguments": json.dumps({"text": TOOL})}],
        "thought": None,
    },
    "autogen, a tool's summary last": {
        "messages": [
            {"source": "user", "content": "hi", "type": "TextMessage"},
            {"source": "a", "content": TOOL, "type": "ToolCallSummaryMessage"},
        ]
    },
    "semantic kernel .net, a tool": {
        "Role": {"Label": "tool"},
        "Items": [{"$type": "TextContent", "Text": TOOL}],
    },
    "openai shell": [{"type": "shell_call_output", "output": [{"stdout": TOOL}]}],
    "a tool call alone": [{"type": "tool-call", "toolName": "find", "input": {"text": TOOL}}],
    "a tool call in a string": {
        "role": "assistant",
        "content": json.dumps([{"type": "tool_use", "x": TOOL}]),
    },
    "reasoning alone": [{"type": "reasoning", "text": THOUGHT}],
    "letta, a tool": {"messages": [{"message_type": "tool_return_message", "content": TOOL}]},
    "an a2a task at work": {"kind": "task", "status": {"state": "working"}, "history": [QUESTION]},
}


@pytest.mark.parametrize("name", SILENT)
def test_what_tools_said_or_were_told_is_not_the_agents(name: str) -> None:
    """Known for a message without words, so that nothing else in it is taken for some."""
    for form in (SILENT[name], json.dumps(SILENT[name])):
        words = agent_words(form)
        assert (words.text, words.shape) == (None, Shape.CHAT)


def test_the_users_words_are_found_in_bare_parts_and_wrapped_messages() -> None:
    """Images, system prompts and tools' answers beside them are passed over."""
    assert user_words([{"type": "image_url", "image_url": {}}, {"type": "text", "text": "hi"}]).text == "hi"
    assert user_words({"message_type": "user_message", "content": "hi"}).text == "hi"
    labelled = [
        {"Role": {"Label": "system"}, "Items": [{"$type": "TextContent", "Text": SYSTEM}]},
        {"Role": {"Label": "user"}, "Items": [{"$type": "TextContent", "Text": "hi"}]},
    ]
    assert user_words({"chatHistory": labelled}).text == "hi"


def test_an_applications_own_objects_are_not_taken_for_parts_or_calls() -> None:
    """An answer that is JSON of the application's own comes whole."""
    for own in (
        [{"type": "text", "role": "title", "value": "x"}, {"type": "chart", "title": "y"}],
        {"id": "1", "name": "x", "arguments": ["for", "against"]},
        {"name": "x", "kind": "task", "status": "open"},
    ):
        assert agent_words(own).text == json.dumps(own, separators=(",", ":"))
    assert agent_words("Prediction(of rain)").text == "Prediction(of rain)"
    assert agent_words({"role": "assistant", "content": '[{"city": "Rome"}]'}).text == '[{"city": "Rome"}]'


ODD: tuple[Any, ...] = ([], {}, None, 1, True)
KEYS = ("type", "kind", "message_type", "candidates", "answers", "data", "Role", "contentBlockDelta")


def test_odd_values_under_known_keys_are_read_without_an_error() -> None:
    """Nothing that a record holds stops a night."""
    for odd, key in itertools.product(ODD, KEYS):
        value = {key: odd, "object": "list", "Items": [odd], 1: odd, "artifacts": odd, "status": odd}
        assert agent_words([value, value]).cut is False
        assert user_words(value).cut is False
