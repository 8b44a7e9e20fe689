"""Spans of Pydantic AI and Logfire."""

import json

from tests.calls.making import native, span
from tracehooks.calls import agent_calls, is_agent_span

SCOPE = "pydantic-ai"
MESSAGES = json.dumps(
    [
        {"role": "system", "parts": [{"type": "text", "content": "SYSTEM-CANARY"}]},
        {"role": "user", "parts": [{"type": "text", "content": "hi"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "find", "arguments": {}}]},
        {"role": "user", "parts": [{"type": "tool_call_response", "id": "1", "result": "TOOL-CANARY"}]},
        {"role": "assistant", "parts": [{"type": "text", "content": "hello"}], "finish_reason": "stop"},
    ]
)
EVENTS = json.dumps(
    [
        {"event.name": "gen_ai.system.message", "content": "SYSTEM-CANARY", "role": "system"},
        {"event.name": "gen_ai.user.message", "content": "hi", "role": "user"},
        {"event.name": "gen_ai.tool.message", "content": "TOOL-CANARY", "role": "tool"},
        {"event.name": "gen_ai.assistant.message", "content": "hello", "role": "assistant"},
    ]
)
RUN = {"agent_name": "jokes", "model_name": "m", "logfire.msg": "jokes run"}


def test_a_run_of_the_older_releases_is_an_agent_span() -> None:
    """Known by the agent's and the model's name, and read from all its messages."""
    for name, messages in (("pydantic_ai.all_messages", MESSAGES), ("all_messages_events", EVENTS)):
        (call,) = agent_calls([span("a", scope=SCOPE, attributes={**RUN, name: messages}, named="jokes run")])
        assert (call.name, call.input, call.output) == ("jokes", "hi", "hello")
        assert call.text_source == name


def test_the_final_result_is_what_was_said() -> None:
    """A text as it is, an object whole."""
    result = {**RUN, "pydantic_ai.all_messages": MESSAGES, "final_result": "goodbye"}
    (call,) = agent_calls([span("a", scope=SCOPE, attributes=result)])
    assert (call.input, call.output, call.text_source) == ("hi", "goodbye", "final_result")
    verdict = {**RUN, "final_result": '{"quality":"good","feedback":"short"}'}
    (call,) = agent_calls([span("a", scope=SCOPE, attributes=verdict)])
    assert call.output == '{"quality":"good","feedback":"short"}'


def test_requests_and_tools_of_a_run_are_no_agents() -> None:
    """Newer releases put the agent's name on them as well."""
    chat = {"gen_ai.operation.name": "chat", "gen_ai.agent.name": "jokes", "gen_ai.request.model": "m"}
    tool = {"gen_ai.tool.name": "find", "gen_ai.agent.name": "jokes"}
    for attributes in (chat, tool):
        assert not is_agent_span(span("a", scope=SCOPE, attributes=attributes))


def test_a_pending_copy_of_a_span_is_never_a_call() -> None:
    """Logfire sends a copy when a span starts, with an id of its own, as if it were below the span."""
    pending = {**RUN, "logfire.span_type": "pending_span"}
    real = span("a", scope=SCOPE, attributes={**RUN, "final_result": "hello"})
    copy = span("p", "a", scope=SCOPE, attributes=pending)
    ours = native("q", "b", attributes={"logfire.span_type": "pending_span"})
    assert [call.output for call in agent_calls([copy, real, ours])] == ["hello"]
    assert agent_calls([copy]) == []


def test_openai_agents_through_logfire_are_heard() -> None:
    """The trace's own span is the call; text is in the events of its requests."""
    scope = "logfire.openai_agents"
    request = {"gen_ai.operation.name": "chat", "events": EVENTS, "response": '{"object":"response"}'}
    top = span(
        "t", scope=scope, named="OpenAI Agents trace: {name}", attributes={"logfire.span_type": "span"}
    )
    run = span("a", "t", scope=scope, named="Agent run: {name!r}", attributes={"logfire.span_type": "span"})
    asked = span("r", "a", scope=scope, named="Responses API", attributes=request)
    tool = span("f", "a", scope=scope, named="Function: {name}", attributes={"output": "TOOL-CANARY"}, end=9)
    (call,) = agent_calls([asked, run, tool, top])
    assert (call.span_id, call.input, call.output) == (top.span_id, "hi", "hello")


def test_logfires_request_and_response_are_read() -> None:
    """Its OpenAI instrumentation keeps both in attributes of their own."""
    request = {
        "request_data": '{"model":"m","messages":[{"role":"user","content":"hi"}]}',
        "response_data": '{"message":{"role":"assistant","content":"hello"},"usage":{"total_tokens":3}}',
    }
    (call,) = agent_calls(
        [native("a", output=None), span("r", "a", scope="logfire.openai", attributes=request)]
    )
    assert (call.input, call.output) == ("hi", "hello")
