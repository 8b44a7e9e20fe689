"""Spans of Google's Agent Development Kit."""

import json

from tests.calls.making import span
from tracehooks.calls import SpanRecord, agent_calls

SCOPE = "gcp.vertex.agent"
CONTENTS = [
    {"role": "user", "parts": [{"text": "hi"}]},
    {"role": "model", "parts": [{"function_call": {"name": "find", "args": {}}}]},
    {
        "role": "user",
        "parts": [{"function_response": {"name": "find", "response": {"result": "TOOL-CANARY"}}}],
    },
]


def legacy(agent_name: str) -> list[SpanRecord]:
    request = {"model": "g", "config": {"system_instruction": "SYSTEM-CANARY"}, "contents": CONTENTS}
    response = {
        "content": {"role": "model", "parts": [{"text": "pondering", "thought": True}, {"text": "hello"}]}
    }
    llm = {
        "gen_ai.system": SCOPE,
        "gcp.vertex.agent.llm_request": json.dumps(request),
        "gcp.vertex.agent.llm_response": json.dumps(response),
        "gcp.vertex.agent.session_id": "s-1",
    }
    tool = {
        "gcp.vertex.agent.llm_response": "{}",
        "gcp.vertex.agent.tool_response": '{"result":"TOOL-CANARY"}',
    }
    return [
        span("i", scope=SCOPE, named="invocation"),
        span("a", "i", scope=SCOPE, named=agent_name),
        span("l", "a", scope=SCOPE, named="call_llm", attributes=llm, end=5),
        span("t", "a", scope=SCOPE, named="execute_tool find", attributes=tool, end=7),
    ]


def test_the_older_format_is_read_from_request_and_response() -> None:
    """The agent's own span is the call, also where it has no attributes at all."""
    for name in ("agent_run [parcels]", "invoke_agent parcels"):
        (call,) = agent_calls(legacy(name))
        assert (call.input, call.output) == ("hi", "hello")
        assert call.text_source == "child span call_llm: gcp.vertex.agent.llm_response"


def test_the_newer_format_is_the_workflows_call() -> None:
    """invoke_workflow is the outermost; a conversation id is its session."""
    workflow = {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": "parcels",
        "gen_ai.conversation.id": "c-1",
    }
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "parcels"}
    said = '[{"role":"assistant","parts":[{"content":"hello","type":"text"}],"finish_reason":""}]'
    asked = '[{"role":"user","parts":[{"content":"hi","type":"text"}]}]'
    model = {
        "gen_ai.operation.name": "generate_content",
        "gen_ai.input.messages": asked,
        "gen_ai.output.messages": said,
    }
    (call,) = agent_calls(
        [
            span("m", "a", scope=SCOPE, attributes=model),
            span("a", "w", scope=SCOPE, attributes=agent),
            span("w", scope=SCOPE, attributes=workflow),
        ]
    )
    assert (call.name, call.session_id, call.input, call.output) == ("parcels", "c-1", "hi", "hello")


def test_an_agent_that_hands_over_stays_one_call() -> None:
    """The agent that it hands over to runs below it."""
    inner = span(
        "b",
        "a",
        scope=SCOPE,
        named="invoke_agent billing",
        attributes={"gen_ai.operation.name": "invoke_agent"},
    )
    assert len(agent_calls([*legacy("invoke_agent front"), inner])) == 1
