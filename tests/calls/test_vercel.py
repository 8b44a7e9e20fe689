"""Spans of the Vercel AI SDK."""

import json

from tests.calls.making import span
from tracehooks.calls import agent_calls, is_agent_span

LOOP = {
    "operation.name": "ai.generateText support",
    "ai.operationId": "ai.generateText",
    "ai.prompt": json.dumps({"system": "SYSTEM-CANARY", "messages": [{"role": "user", "content": "hi"}]}),
    "ai.response.text": "hello",
    "ai.response.finishReason": "stop",
    "ai.telemetry.functionId": "support",
    "ai.telemetry.metadata.sessionId": "s-1",
    "ai.telemetry.metadata.userId": "u-1",
    "ai.telemetry.metadata.tags": ["beta"],
    "ai.telemetry.metadata.plan": "pro",
}


def test_the_loop_is_the_call() -> None:
    """The outer operation has the last words; what it says of itself is name, session, user and tags."""
    request = {"ai.operationId": "ai.generateText.doGenerate", "ai.response.text": "let me look"}
    tool = {"ai.operationId": "ai.toolCall", "ai.toolCall.result": '"TOOL-CANARY"'}
    (call,) = agent_calls(
        [
            span("a", scope="ai", attributes=LOOP),
            span("1", "a", scope="ai", attributes=request),
            span("t", "a", scope="ai", attributes=tool),
        ]
    )
    assert (call.name, call.input, call.output, call.text_source) == (
        "support",
        "hi",
        "hello",
        "ai.response.text",
    )
    assert (call.session_id, call.user_id, call.tags) == ("s-1", "u-1", ("beta",))
    assert call.metadata["plan"] == "pro"


def test_an_object_is_given_whole_and_a_prompt_is_a_question() -> None:
    """generateObject answers with JSON; a prompt may be plain text."""
    attributes = {
        "ai.operationId": "ai.generateObject",
        "ai.prompt": '{"prompt":"hi"}',
        "ai.response.object": '{"title":"hello","steps":["one"]}',
    }
    (call,) = agent_calls([span("a", scope="ai", attributes=attributes)])
    assert (call.input, call.output) == ("hi", '{"title":"hello","steps":["one"]}')


def test_a_loop_that_ended_in_tool_calls_is_heard_through_its_last_request() -> None:
    """The last words before the tool, where the top has none."""
    silent = {
        "ai.operationId": "ai.streamText",
        "ai.response.text": "",
        "ai.response.toolCalls": '[{"toolName":"find"}]',
    }
    request = {"ai.operationId": "ai.streamText.doStream", "ai.response.text": "let me look"}
    (call,) = agent_calls(
        [span("a", scope="ai", attributes=silent), span("1", "a", scope="ai", attributes=request)]
    )
    assert call.output == "let me look"


def test_requests_embeddings_and_tools_are_no_agents() -> None:
    """Only the operations that run the loop are."""
    for operation in ("ai.generateText.doGenerate", "ai.embed", "ai.toolCall"):
        assert not is_agent_span(span("a", scope="ai", attributes={"ai.operationId": operation}))
