"""Spans of LangSmith's OpenTelemetry export."""

import json

from tests.calls.making import span
from tracehooks.calls import agent_calls

STATE = {"messages": [{"type": "human", "content": "hi"}, {"type": "ai", "content": "hello"}]}


def test_langgraph_is_one_call() -> None:
    """Everything is a chain there; the top one is the call, its completion the text."""
    top = {
        "langsmith.span.kind": "chain",
        "gen_ai.operation.name": "chain",
        "langsmith.trace.name": "support",
        "gen_ai.prompt": '{"messages":[{"role":"user","content":"hi"}]}',
        "gen_ai.completion": json.dumps(STATE),
        "langsmith.metadata.thread_id": "s-1",
        "langsmith.span.tags": "beta, eu",
    }
    node = {"langsmith.span.kind": "chain", "langsmith.metadata.langgraph_node": "model"}
    model = {"langsmith.span.kind": "llm", "gen_ai.operation.name": "chat", "gen_ai.completion": "{}"}
    (call,) = agent_calls(
        [span("m", "n", attributes=model), span("n", "g", attributes=node), span("g", attributes=top)]
    )
    assert (call.name, call.input, call.output) == ("support", "hi", "hello")
    assert (call.session_id, call.tags) == ("s-1", ("beta", "eu"))
