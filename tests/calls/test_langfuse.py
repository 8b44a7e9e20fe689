"""Spans of Langfuse's own SDK."""

import json
from typing import Any

import pytest

from tests.calls.making import span
from tracehooks.calls import SpanRecord, agent_calls, is_agent_span


def observed(
    name: str, parent: str | None = None, kind: str = "span", output: Any = None, **more: Any
) -> SpanRecord:
    attributes = {"langfuse.observation.type": kind, **more.pop("attributes", {})}
    if output is not None:
        attributes["langfuse.observation.output"] = output if isinstance(output, str) else json.dumps(output)
    return span(name, parent, scope="langfuse-sdk", attributes=attributes, **more)


def test_an_observed_agent_is_the_call() -> None:
    """Not the handler around it; session, user, tags and metadata come from the handler too."""
    around = {
        "session.id": "s-1",
        "user.id": "u-1",
        "langfuse.trace.tags": ["beta"],
        "langfuse.trace.metadata.plan": '"pro"',
        "langfuse.version": "3",
        "langfuse.environment": "staging",
    }
    question = {"langfuse.observation.input": '{"args": ["hi"], "kwargs": {}}', "langfuse.version": "3"}
    spans = [
        observed("handle", output={"status": "done"}, attributes=around),
        observed("support", "handle", "agent", "hello", attributes=question),
        observed("find", "support", "tool", "TOOL-CANARY"),
    ]
    (call,) = agent_calls(spans)
    assert (call.name, call.input, call.output) == ("support", "hi", "hello")
    assert (call.session_id, call.user_id, call.tags, call.metadata) == (
        "s-1",
        "u-1",
        ("beta",),
        {"plan": "pro"},
    )
    assert (call.version, call.environment) == ("3", "staging")


def test_a_plainly_observed_function_is_the_call_where_no_agent_is() -> None:
    """The outermost one; models below are heard when it says nothing, steps only when they hold a message."""
    spans = [
        observed("answer", output={"body": "hello", "status": "done"}),
        observed("inner", "answer", output="draft"),
        observed("OpenAI-generation", "inner", "generation", {"role": "assistant", "content": "raw"}),
    ]
    (call,) = agent_calls(spans)
    assert call.output == '{"body":"hello","status":"done"}'
    spans[0] = observed("answer")
    (call,) = agent_calls(spans)
    assert call.output == "raw"


def test_agents_below_a_plainly_observed_function_are_calls_each() -> None:
    """Two agents side by side are two calls, whoever instrumented them."""
    agents = [
        span(
            name,
            "answer",
            scope="pydantic-ai",
            attributes={"agent_name": name, "model_name": "m", "final_result": name},
        )
        for name in ("jokes", "critic")
    ]
    calls = agent_calls([observed("answer", output="both"), *agents])
    assert {call.name for call in calls} == {"jokes", "critic"}


def test_langgraph_through_the_handler_is_one_call() -> None:
    """Its nodes are taken for agents by their name; the graph covers them, whatever it is called."""
    node = {"langfuse.observation.metadata.langgraph_node": "agent"}
    state = {"messages": [{"type": "human", "content": "hi"}, {"type": "ai", "content": "hello"}]}
    for name in ("LangGraph", "support"):
        spans = [
            observed("g", None, "chain", state, named=name),
            observed(
                "agent", "g", "agent", {"messages": [{"type": "ai", "content": "hello"}]}, attributes=node
            ),
        ]
        (call,) = agent_calls(spans)
        assert (call.name, call.output) == (name, "hello")


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("agent", True),
        ("span", False),
        ("generation", False),
        ("tool", False),
        ("event", False),
        ("chain", False),
    ],
)
def test_which_observations_are_agents(kind: str, expected: bool) -> None:
    """Those that are called so."""
    assert is_agent_span(observed("a", None, kind)) is expected
