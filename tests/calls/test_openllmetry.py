"""Spans that speak OpenLLMetry."""

import json

from tests.calls.making import span
from tracehooks.calls import agent_calls, is_agent_span


def test_a_workflow_is_the_call_and_its_entity_the_text() -> None:
    """The decorator's input and output; association properties are session, user and metadata."""
    attributes = {
        "traceloop.span.kind": "workflow",
        "traceloop.entity.name": "support",
        "traceloop.entity.version": "3",
        "traceloop.entity.input": '{"args": ["hi"], "kwargs": {}}',
        "traceloop.entity.output": '"hello"',
        "traceloop.association.properties.user_id": "u-1",
        "traceloop.association.properties.session_id": "s-1",
        "traceloop.association.properties.plan": "pro",
    }
    agent = {"traceloop.span.kind": "agent", "traceloop.entity.output": '"draft"'}
    (call,) = agent_calls([span("w", attributes=attributes), span("a", "w", attributes=agent)])
    assert (call.name, call.version, call.input, call.output) == ("support", "3", "hi", "hello")
    assert (call.session_id, call.user_id, call.metadata["plan"]) == ("s-1", "u-1", "pro")
    assert call.text_source == "traceloop.entity.output"


def test_numbered_completions_are_put_together() -> None:
    """Older releases spread prompts and completions over numbered attributes, parts as JSON."""
    chat = {
        "llm.request.type": "chat",
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": "SYSTEM-CANARY",
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": '[{"type": "text", "text": "hi"}]',
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "hello",
        "gen_ai.completion.0.finish_reason": "stop",
    }
    silent = {
        "llm.request.type": "chat",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.finish_reason": "tool_calls",
        "gen_ai.completion.0.tool_calls.0.name": "find",
        "gen_ai.completion.0.tool_calls.0.arguments": '{"q": "TOOL-CANARY"}',
    }
    spans = [
        span("a", attributes={"traceloop.span.kind": "agent"}),
        span("1", "a", attributes=chat, end=3, named="openai.chat"),
        span("2", "a", attributes=silent, end=4),
    ]
    (call,) = agent_calls(spans)
    assert (call.input, call.output) == ("hi", "hello")
    assert call.text_source == "child span openai.chat: gen_ai.completion"


def test_langgraphs_outputs_are_found_inside_the_entity() -> None:
    """LangChain's callbacks are recorded with inputs and outputs inside."""
    messages = [{"type": "human", "content": "hi"}, {"type": "ai", "content": "hello"}]
    attributes = {
        "traceloop.span.kind": "workflow",
        "traceloop.entity.input": json.dumps(
            {"inputs": {"messages": messages[:1]}, "tags": [], "metadata": {"a": "b"}}
        ),
        "traceloop.entity.output": json.dumps({"outputs": {"messages": messages}, "kwargs": {"tags": ["x"]}}),
    }
    (call,) = agent_calls([span("a", attributes=attributes)])
    assert (call.input, call.output) == ("hi", "hello")


def test_an_output_of_null_is_heard_below() -> None:
    """The JSON null is no text; a task's text is heard when it is a message, a tool's never."""
    said = {
        "traceloop.span.kind": "task",
        "traceloop.entity.output": '{"role":"assistant","content":"hello"}',
    }
    tool = {"traceloop.span.kind": "tool", "traceloop.entity.output": '"TOOL-CANARY"'}
    top = {"traceloop.span.kind": "workflow", "traceloop.entity.output": "null"}
    (call,) = agent_calls(
        [
            span("w", attributes=top),
            span("t", "w", attributes=said, end=3),
            span("u", "w", attributes=tool, end=5),
        ]
    )
    assert call.output == "hello"


def test_tasks_and_tools_are_no_agents() -> None:
    """Only workflows and agents are."""
    kinds = {"workflow": True, "agent": True, "task": False, "tool": False, "unknown": False}
    for kind, expected in kinds.items():
        assert is_agent_span(span("a", attributes={"traceloop.span.kind": kind})) is expected
