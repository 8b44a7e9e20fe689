"""Spans that speak OpenTelemetry's GenAI conventions."""

import json
from typing import Any

import pytest

from tests.calls.making import span
from tracehooks.calls import SpanEvent, SpanRecord, agent_calls, is_agent_span
from tracehooks.records import AgentCall

AGENT = {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.name": "parcels",
    "gen_ai.provider.name": "openai",
}


def text(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": content}]}


ASKED = [text("system", "SYSTEM-CANARY"), text("user", "hi")]
SAID = [
    {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": "1", "name": "find", "arguments": {"q": "x"}}],
    },
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": "TOOL-CANARY"}]},
    {**text("assistant", "hello"), "finish_reason": "stop"},
]


def only(*spans: SpanRecord) -> AgentCall:
    (call,) = agent_calls(spans)
    return call


def agent(*events: SpanEvent, **attributes: Any) -> SpanRecord:
    named = {name.replace("_X_", "."): value for name, value in attributes.items()}
    return span("a", attributes=AGENT | named, events=events, named="invoke_agent parcels")


@pytest.mark.parametrize("form", [json.dumps, list])
def test_messages_are_read_from_attributes(form: Any) -> None:
    """As JSON, and as the structured attributes that the conventions allow."""
    attributes = {"gen_ai.input.messages": form(ASKED), "gen_ai.output.messages": form(SAID)}
    call = only(
        span("a", attributes=AGENT | attributes | {"gen_ai.conversation.id": "c-1", "enduser.id": "u-1"})
    )
    assert (call.input, call.output, call.name) == ("hi", "hello", "parcels")
    assert call.text_source == "gen_ai.output.messages"
    assert (call.session_id, call.user_id) == ("c-1", "u-1")


@pytest.mark.parametrize(
    "choice",
    [
        {"message": "hello", "finish_reason": "end_turn"},
        {"message": '[{"text": "hello"}]', "finish_reason": "end_turn"},
        {"message": '{"role": "assistant", "content": "hello"}', "index": 0},
        {"content": "hello"},
    ],
)
def test_messages_are_read_from_one_event_each(choice: dict[str, Any]) -> None:
    """The older conventions: the last choice is what was said, the last user message what was asked."""
    call = only(
        agent(
            SpanEvent(name="gen_ai.system.message", attributes={"content": "SYSTEM-CANARY"}),
            SpanEvent(name="gen_ai.user.message", attributes={"content": '[{"text": "hi"}]'}),
            SpanEvent(
                name="gen_ai.choice", attributes={"message": "let me look", "tool.result": "TOOL-CANARY"}
            ),
            SpanEvent(name="gen_ai.tool.message", attributes={"content": "TOOL-CANARY"}),
            SpanEvent(name="gen_ai.choice", attributes=choice),
        )
    )
    assert (call.input, call.output, call.text_source) == ("hi", "hello", "event gen_ai.choice")


def test_messages_are_read_from_one_event_for_all() -> None:
    """The newer conventions put the messages of a request on one event."""
    details = {"gen_ai.input.messages": json.dumps(ASKED), "gen_ai.output.messages": json.dumps(SAID)}
    call = only(agent(SpanEvent(name="gen_ai.client.inference.operation.details", attributes=details)))
    assert (call.input, call.output) == ("hi", "hello")


def test_semantic_kernels_events_and_attributes_are_read() -> None:
    """Prompt and completion as JSON on events, or the invocation's input and output as attributes."""
    call = only(
        agent(
            SpanEvent(
                name="gen_ai.content.prompt", attributes={"gen_ai.prompt": '[{"role":"user","content":"hi"}]'}
            ),
            SpanEvent(
                name="gen_ai.content.completion",
                attributes={"gen_ai.completion": '[{"message":{"role":"assistant","content":"hello"}}]'},
            ),
        )
    )
    assert (call.input, call.output) == ("hi", "hello")
    invocation = {
        "gen_ai.agent.invocation_input": '[{"role":"user","content":"hi"}]',
        "gen_ai.agent.invocation_output": '[{"role":"assistant","content":"hello"}]',
    }
    assert only(span("a", attributes=AGENT | invocation)).output == "hello"


def test_an_agent_that_ends_in_a_tool_call_said_nothing() -> None:
    """Its messages are there and hold no words: what a model said before is not looked for."""
    silent = AGENT | {"gen_ai.output.messages": json.dumps(SAID[:2])}
    chat = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps(SAID)}
    assert only(span("a", attributes=silent), span("c", "a", attributes=chat)).output is None


def test_an_agent_without_messages_is_heard_through_its_model() -> None:
    """The request that ended last and said anything; embeddings and tools are not heard."""
    chat = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(ASKED)}
    call = only(
        span("a", attributes=AGENT),
        span("1", "a", attributes=chat | {"gen_ai.output.messages": json.dumps(SAID)}, end=4, named="chat m"),
        span("2", "a", attributes=chat | {"gen_ai.output.messages": json.dumps(SAID[:1])}, end=6),
        span(
            "3", "a", attributes={"gen_ai.operation.name": "execute_tool", "gen_ai.completion": "no"}, end=8
        ),
    )
    assert (call.input, call.output) == ("hi", "hello")
    assert call.text_source == "child span chat m: gen_ai.output.messages"


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("invoke_agent", True),
        ("invoke_workflow", True),
        ("create_agent", False),
        ("chat", False),
        ("plan", False),
    ],
)
def test_which_operations_are_agents(operation: str, expected: bool) -> None:
    """Invoking an agent or a workflow of agents; making one is not running it."""
    assert is_agent_span(span("a", attributes={"gen_ai.operation.name": operation})) is expected


def test_a_workflow_covers_the_agents_it_invokes() -> None:
    """The workflow is the call; agents without one above are calls each."""
    workflow = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": "night"}
    agents = [span(name, "w", attributes=AGENT) for name in "ab"]
    assert [call.name for call in agent_calls([*agents, span("w", attributes=workflow)])] == ["night"]
    assert len(agent_calls(agents)) == 2
