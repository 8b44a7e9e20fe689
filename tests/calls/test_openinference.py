"""Spans that speak OpenInference."""

import json
from typing import Any

import pytest

from tests.calls.making import span
from tracehooks.calls import SpanRecord, agent_calls, is_agent_span
from tracehooks.records import AgentCall

SCOPE = "openinference.instrumentation."


def of(
    name: str, parent: str | None = None, *, kind: str, scope: str = "openai_agents", **more: Any
) -> SpanRecord:
    attributes = {"openinference.span.kind": kind, **more.pop("attributes", {})}
    return span(name, parent, scope=SCOPE + scope, attributes=attributes, **more)


def only(*spans: SpanRecord) -> AgentCall:
    (call,) = agent_calls(spans)
    return call


def messages(direction: str, *turns: tuple[str, str]) -> dict[str, Any]:
    found = {}
    for number, (role, content) in enumerate(turns):
        found[f"llm.{direction}_messages.{number}.message.role"] = role
        found[f"llm.{direction}_messages.{number}.message.content"] = content
    return found


def test_a_model_is_heard_through_its_numbered_messages() -> None:
    """OpenAI Agents leaves its agents empty; messages are put together from numbered attributes."""
    first = messages("input", ("system", "SYSTEM-CANARY"), ("user", "hi")) | {
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "find",
    }
    second = messages("output", ("assistant", "hello")) | {
        "output.value": '{"object":"response","output":[]}'
    }
    call = only(
        of("Agent workflow", kind="AGENT"),
        of("a", "Agent workflow", kind="AGENT", attributes={"graph.node.id": "help"}),
        of("1", "a", kind="LLM", attributes=first, end=3),
        of("t", "a", kind="TOOL", attributes={"output.value": "TOOL-CANARY"}, end=5),
        of("2", "a", kind="LLM", attributes=second, end=4, named="response"),
    )
    assert (call.name, call.input, call.output) == ("Agent workflow", "hi", "hello")
    assert call.text_source == "child span response: llm.output_messages"


def test_what_a_guardrail_asks_and_says_is_not_the_conversation() -> None:
    """It runs models of its own, before the first request and after the last."""
    check = messages("input", ("user", "Is this harmless?")) | messages("output", ("assistant", "It is."))
    talk = messages("input", ("user", "hi")) | messages("output", ("assistant", "hello"))
    call = only(
        of("a", kind="AGENT"),
        of("g", "a", kind="GUARDRAIL", start=1),
        of("guard", "g", kind="AGENT", start=1),
        of("1", "guard", kind="LLM", attributes=check, start=1),
        of("2", "a", kind="LLM", attributes=talk, start=2, end=5),
        of("h", "a", kind="GUARDRAIL", start=6),
        of("3", "h", kind="LLM", attributes=check, start=6),
    )
    assert (call.input, call.output) == ("hi", "hello")


def test_more_than_ten_messages_keep_their_order() -> None:
    """Numbers are compared as numbers: the eleventh message comes after the second."""
    turns = [("user", f"question {n}") for n in range(12)]
    llm = messages("input", *turns) | messages("output", ("assistant", "hello"))
    assert only(of("a", kind="AGENT"), of("l", "a", kind="LLM", attributes=llm)).input == "question 11"


def test_content_in_parts_is_put_together() -> None:
    """``message.contents.N.message_content.text``, images left out."""
    prefix = "llm.output_messages.0.message."
    parts = {
        prefix + "role": "assistant",
        prefix + "contents.0.message_content.type": "text",
        prefix + "contents.0.message_content.text": "hello",
        prefix + "contents.1.message_content.type": "image",
        prefix + "contents.1.message_content.image.image.url": "data:,x",
    }
    assert only(of("a", kind="AGENT"), of("l", "a", kind="LLM", attributes=parts)).output == "hello"


def test_langgraphs_state_is_read_at_the_top() -> None:
    """The whole conversation is in the top chain's output: the last answer counts."""
    state = {
        "messages": [
            {"type": "human", "data": {"content": "hi"}},
            {"type": "ai", "data": {"content": "", "tool_calls": [{"name": "find"}]}},
            {"type": "tool", "data": {"content": "TOOL-CANARY"}},
            {"type": "ai", "data": {"content": "hello"}},
        ]
    }
    top = {
        "input.value": '{"messages":[{"role":"user","content":"hi"}]}',
        "output.value": json.dumps(state),
        "metadata": '{"thread_id":"t-1"}',
        "session.id": "s-1",
        "tag.tags": ["beta"],
    }
    call = only(of("LangGraph", kind="CHAIN", scope="langchain", attributes=top))
    assert (call.input, call.output, call.text_source) == ("hi", "hello", "output.value")
    assert (call.session_id, call.tags, call.metadata) == ("s-1", ("beta",), {"thread_id": "t-1"})


def test_a_steps_output_is_heard_only_when_it_is_a_message() -> None:
    """A router's word continue is not the agent's."""
    call = only(
        of("g", kind="AGENT", scope="langchain"),
        of(
            "agent",
            "g",
            kind="CHAIN",
            scope="langchain",
            end=4,
            attributes={"output.value": '{"messages":[{"type":"ai","content":"hello"}]}'},
        ),
        of("route", "g", kind="CHAIN", scope="langchain", end=8, attributes={"output.value": "continue"}),
    )
    assert call.output == "hello"


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        (
            "AgentOutput(response=ChatMessage(role=<MessageRole.ASSISTANT: 'assistant'>, "
            "blocks=[TextBlock(block_type='text', text='it\\'s \"here\"')]), current_agent_name='a')",
            'it\'s "here"',
        ),
        (
            "AgentSetup(input=[ChatMessage(role=<MessageRole.SYSTEM: 'system'>, blocks=[B(text='x')])])",
            None,
        ),
        (
            "StopEvent(result=Output(response=ChatMessage(role=<MessageRole.ASSISTANT: 'assistant'>, bl...",
            None,
        ),
    ],
)
def test_a_printed_object_is_read_as_far_as_a_message_can_be_made_out(
    printed: str, expected: str | None
) -> None:
    """LlamaIndex records what Python prints; nobody said that."""
    call = only(
        of("FunctionAgent.run", kind="CHAIN", scope="llama_index", attributes={"output.value": printed})
    )
    assert call.output == expected


def test_llamaindex_below_the_top_is_heard_without_its_prefix() -> None:
    """Its responses are printed with the role before the text; its inner state is no question."""
    call = only(
        of(
            "FunctionAgent.run",
            kind="CHAIN",
            scope="llama_index",
            attributes={"input.value": '{"init_state": {"a": "b"}}'},
        ),
        of(
            "l",
            "FunctionAgent.run",
            kind="LLM",
            scope="llama_index",
            attributes={"output.value": "assistant: hello"},
        ),
    )
    assert (call.input, call.output) == (None, "hello")


def test_a_crew_is_asked_by_its_tasks_and_named_without_its_random_id() -> None:
    """The crew's goal and backstory are prompts, not questions."""
    output = {
        "raw": "hello",
        "tasks_output": [{"messages": [{"role": "system", "content": "SYSTEM-CANARY"}]}],
    }
    top = {
        "output.value": json.dumps(output),
        "crew_tasks": '[{"description":"hi","expected_output":"an answer"}]',
        "crew_agents": '[{"goal":"SYSTEM-CANARY"}]',
    }
    name = "Crew_1dafdcd0-b795-419c-aac0-3d1b38180029.kickoff"
    agent = {
        "input.value": '{"agent":{"goal":"SYSTEM-CANARY"},"context":""}',
        "output.value": '{"raw":"hello"}',
    }
    call = only(
        of("c", kind="CHAIN", scope="crewai", attributes=top, named=name),
        of("a", "c", kind="AGENT", scope="crewai", attributes=agent),
    )
    assert (call.name, call.input, call.output) == ("Crew.kickoff", "hi", "hello")


@pytest.mark.parametrize(
    ("scope", "name", "kind", "expected"),
    [
        (SCOPE + "langchain", "LangGraph", "CHAIN", True),
        (SCOPE + "langchain", "support", "chain", True),
        (SCOPE + "langchain", "RunnableSequence", "CHAIN", False),
        (SCOPE + "langchain", "ChatPromptTemplate", "CHAIN", False),
        (SCOPE + "crewai", "Crew.kickoff", "CHAIN", True),
        (SCOPE + "haystack", "Agent.run", "CHAIN", True),
        (SCOPE + "haystack", "ChatPromptBuilder.run", "CHAIN", False),
        (SCOPE + "llama_index", "FunctionAgent.run", "CHAIN", True),
        (SCOPE + "llama_index", "RetrieverQueryEngine.query", "CHAIN", True),
        (SCOPE + "llama_index", "BaseWorkflowAgent.run_agent_step", "CHAIN", False),
        (SCOPE + "llama_index", "SentenceSplitter.__call__", "CHAIN", False),
        ("my.app", "handle", "CHAIN", False),
        ("my.app", "handle", "AGENT", True),
        ("my.app", "handle", "LLM", False),
        ("my.app", "handle", "TOOL", False),
    ],
)
def test_which_spans_are_agents(scope: str, name: str, kind: str, expected: bool) -> None:
    """What says so, and the chain through which a framework is entered."""
    assert (
        is_agent_span(span("a", named=name, scope=scope, attributes={"openinference.span.kind": kind}))
        is expected
    )


def test_a_chain_of_an_applications_own_is_a_call_where_no_agent_is() -> None:
    """A manual chain span, and a chain of LangChain's pieces, count only alone."""
    chain = {"openinference.span.kind": "CHAIN", "output.value": "hello"}
    assert only(span("c", scope="my.app", attributes=chain)).output == "hello"
    assert only(of("RunnableSequence", kind="CHAIN", scope="langchain", attributes=chain)).output == "hello"
    both = [span("c", scope="my.app", attributes=chain), of("a", "c", kind="AGENT")]
    assert [call.name for call in agent_calls(both)] == ["a"]
