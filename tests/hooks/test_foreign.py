"""Hooks of the settings score every agent span of the process, whoever made it, with no edit of the agent."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Tracer

import tracehooks
from tests.hooks.counting import ALWAYS, Seen, scores_of
from tracehooks import ScoringHook, traced
from tracehooks.errors import ConfigurationError
from tracehooks.store import Store

Start = Callable[..., None]
HOOK = {"scorer": "recorded", "rate": 1.0}


def messages(role: str, text: str) -> str:
    return orjson.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}]).decode()


@pytest.fixture
def provider() -> TracerProvider:
    return TracerProvider(shutdown_on_exit=False)


def genai_agent(tracer: Tracer, name: str, answer: str | None, below: str | None = None) -> None:
    """An agent's run by the GenAI conventions: a tool and a model below it."""
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
    with tracer.start_as_current_span(f"invoke_agent {name}", attributes=attributes) as agent:
        with tracer.start_as_current_span("execute_tool search") as tool:
            tool.set_attribute("gen_ai.operation.name", "execute_tool")
            tool.set_attribute("gen_ai.tool.call.result", "CANARY of the tool")
        with tracer.start_as_current_span("chat gpt") as model:
            model.set_attribute("gen_ai.operation.name", "chat")
            model.set_attribute(
                "gen_ai.system_instructions", '[{"type":"text","content":"CANARY of the system"}]'
            )
            model.set_attribute("gen_ai.input.messages", messages("user", "Where is it?"))
            if below is not None:
                model.set_attribute("gen_ai.output.messages", messages("assistant", below))
        if answer is not None:
            agent.set_attribute("gen_ai.output.messages", messages("assistant", answer))


def test_an_agent_of_the_genai_conventions_is_scored(
    start: Start, stored: Store, recorded: Seen, provider: TracerProvider
) -> None:
    """On the agent's own span, by ids that are explicit: its text is what the agent said."""
    start(provider, hooks=[HOOK])
    genai_agent(provider.get_tracer("some.framework"), "help-desk", "On its way.", below="draft")
    assert tracehooks.flush(20)
    (score,), (call,) = scores_of(stored), stored.calls.iterate(*ALWAYS)
    assert (score.trace_id, score.span_id, score.call_name) == (call.trace_id, call.span_id, "help-desk")
    assert recorded.outputs == ["On its way."]
    assert recorded.calls == [call]


def test_an_agent_without_text_is_heard_below(
    start: Start, stored: Store, recorded: Seen, provider: TracerProvider
) -> None:
    """Its last model span's words; neither the system's nor the tool's."""
    start(provider, hooks=[HOOK])
    genai_agent(provider.get_tracer("some.framework"), "help-desk", None, below="Said below.")
    assert tracehooks.flush(20)
    assert recorded.outputs == ["Said below."]
    assert recorded.calls == list(stored.calls.iterate(*ALWAYS))
    assert "CANARY" not in str(recorded.calls)


def test_openinference_is_scored_at_the_top_although_it_says_late_what_is_what(
    start: Start, stored: Store, recorded: Seen, provider: TracerProvider
) -> None:
    """A LangGraph run: chains and agents below its top are steps, and are never scored."""
    start(provider, hooks=[HOOK])
    tracer = provider.get_tracer("openinference.instrumentation.langchain")
    with tracer.start_as_current_span("LangGraph") as top:
        for name in ("agent", "tools", "agent"):
            with tracer.start_as_current_span(name) as node:
                with tracer.start_as_current_span("ChatOpenAI") as model:
                    model.set_attribute("openinference.span.kind", "LLM")
                    model.set_attribute("llm.output_messages.0.message.role", "assistant")
                    model.set_attribute("llm.output_messages.0.message.content", f"{name} speaks")
                node.set_attribute("openinference.span.kind", "AGENT" if name == "agent" else "CHAIN")
        top.set_attribute("openinference.span.kind", "CHAIN")
    assert tracehooks.flush(20)
    (score,) = scores_of(stored)
    (call,) = stored.calls.iterate(*ALWAYS)
    assert (score.span_id, score.call_name) == (call.span_id, "LangGraph")
    assert recorded.calls == [call]
    assert recorded.outputs == ["agent speaks"]
    assert tracehooks.stats()["triggered"] == 1


def test_our_own_agents_are_scored_by_the_settings_too(start: Start, recorded: Seen) -> None:
    """The outermost ones."""
    start(hooks=[HOOK])

    @traced
    def inner(q: str) -> str:
        return "inner"

    @traced
    def outer(q: str) -> str:
        return f"outer of {inner(q)}"

    outer("q")
    inner("q")
    assert tracehooks.flush(20)
    assert recorded.outputs == ["inner", "outer of inner"]


def test_what_decorator_and_settings_both_want_is_scored_once(start: Start, recorded: Seen) -> None:
    """One score has one name: nobody pays a judge twice for it."""
    start(hooks=[HOOK])
    other = Seen("other")

    @traced(hooks=[ScoringHook(recorded), ScoringHook(other)])
    def agent(q: str) -> str:
        return q

    agent("q")
    assert tracehooks.flush(20)
    assert (len(recorded.calls), len(other.calls), tracehooks.stats()["triggered"]) == (1, 1, 2)


@pytest.mark.parametrize(("patterns", "scored"), [(["help-*"], 1), (["Help-*"], 0), (["x", "*-desk"], 1)])
def test_agents_are_chosen_by_their_names(
    start: Start, recorded: Seen, provider: TracerProvider, patterns: list[str], scored: int
) -> None:
    """Shell patterns over the name that the call has in the store; case matters."""
    start(provider, hooks=[{**HOOK, "agents": patterns}])
    genai_agent(provider.get_tracer("t"), "help-desk", "Hello.")
    genai_agent(provider.get_tracer("t"), "sales", "Hello.")
    assert tracehooks.flush(20)
    assert len(recorded.calls) == scored == tracehooks.stats()["triggered"]


def test_an_applications_other_spans_are_left_alone(
    start: Start, recorded: Seen, provider: TracerProvider, stored: Store
) -> None:
    """Requests, queries, and models called by nobody's agent."""
    start(provider, hooks=[HOOK])
    chat = {"gen_ai.operation.name": "chat"}
    with (
        provider.get_tracer("opentelemetry.instrumentation.fastapi").start_as_current_span("GET /"),
        provider.get_tracer("m").start_as_current_span("chat", attributes=chat),
    ):
        pass
    assert tracehooks.flush(20)
    assert recorded.calls == []
    assert tracehooks.stats()["triggered"] == 0


@pytest.mark.parametrize("settings", [{"hooks": [{"scorer": "absent"}]}, {"sinks": ["absent"]}])
def test_a_name_that_nobody_offers_is_told_by_init(start: Start, settings: dict[str, Any]) -> None:
    """And not by a log line at the first call."""
    with pytest.raises(ConfigurationError, match="absent"):
        start(**settings)
