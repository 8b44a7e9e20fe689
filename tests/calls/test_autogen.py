"""AutoGen's spans: its own GenAI telemetry, and OpenInference's."""

from tests.calls.making import span
from tracehooks.calls import agent_calls


def test_the_agents_invocation_is_the_call_and_making_it_is_none() -> None:
    """AutoGen's own span has no text; OpenInference's request below it has."""
    own = {"gen_ai.system": "autogen", "gen_ai.agent.name": "help_desk"}
    scope = "openinference.instrumentation.autogen_agentchat"
    stream = {"openinference.span.kind": "AGENT"}
    request = {
        "openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "hi",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "find",
        "output.value": '{"finish_reason":"function_calls","content":[{"arguments":"{}","name":"find"}]}',
    }
    said = {**request, "llm.output_messages.0.message.content": "hello"}
    spans = [
        span("c", scope="autogen-core", attributes=own | {"gen_ai.operation.name": "create_agent"}),
        span("i", scope="autogen-core", attributes=own | {"gen_ai.operation.name": "invoke_agent"}, start=2),
        span("s", "i", scope=scope, attributes=stream),
        span("1", "s", scope=scope, attributes=said, end=4),
        span("2", "s", scope=scope, attributes=request, end=6),
    ]
    (call,) = agent_calls(spans)
    assert (call.name, call.input, call.output) == ("help_desk", "hi", "hello")


def test_a_team_is_one_call_and_its_last_words_the_agents() -> None:
    """A team's result holds everybody's messages: the person who approved is not the agent."""
    result = (
        '{"messages":[{"source":"user","content":"hi","type":"TextMessage"},'
        '{"source":"writer","content":"hello","type":"TextMessage"},'
        '{"source":"user_proxy","content":"APPROVE","type":"TextMessage"}],"stop_reason":"approved"}'
    )
    team = {"openinference.span.kind": "AGENT", "output.value": result}
    member = {"openinference.span.kind": "AGENT", "output.value": "draft"}
    (call,) = agent_calls([span("team", attributes=team), span("writer", "team", attributes=member)])
    assert (call.name, call.output) == ("team", "hello")
