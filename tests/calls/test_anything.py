"""Whatever a span holds, reading it raises nothing and lets nobody else speak."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.calls.making import span
from tracehooks.calls import SpanEvent, agent_calls, is_agent_span
from tracehooks.calls.dialects import DIALECTS
from tracehooks.calls.messages import ROLES
from tracehooks.calls.text import ANSWER_KEYS, QUESTION_KEYS, agent_words, user_words

_WORDS = (
    "type",
    "role",
    "parts",
    "content",
    "text",
    "kind",
    "lc",
    "kwargs",
    "id",
    "data",
    "source",
    "delta",
    "object",
)
KEYS = st.sampled_from(
    (*_WORDS, *ANSWER_KEYS, *QUESTION_KEYS, "replies", "thought", "event.name", "part_kind")
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(
        (*ROLES, "text", "request", "response", "constructor", "gen_ai.choice", "null", "[", '{"a', "<think>")
    ),
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(KEYS, inner, max_size=4),
        inner.map(lambda value: json.dumps(value)),
    ),
    max_leaves=12,
)
NAMES = st.sampled_from(
    [
        name
        for dialect in DIALECTS
        for name in (*dialect.markers, *dialect.tags, *dialect.metadata, *dialect.sessions)
    ]
    + [
        "tracehooks.input",
        "tracehooks.output",
        "output.value",
        "input.value",
        "gen_ai.output.messages",
        "crew_tasks",
    ]
    + [
        "llm.output_messages.0.message.content",
        "llm.output_messages.0.message.contents.0.message_content.text",
    ]
    + ["gen_ai.completion.0.content", "gen_ai.completion", "final_result", "ai.response.text", "events"]
)
KINDS = st.sampled_from(
    ["agent", "AGENT", "CHAIN", "invoke_agent", "span", "workflow", '"AGENT"', "ai.generateText"]
)
SCOPES = st.sampled_from(
    ["tracehooks", "http", "pydantic-ai", "gcp.vertex.agent", "openinference.instrumentation.crewai"]
)


@settings(max_examples=250, deadline=None)
@given(VALUES)
def test_any_value_is_read_without_an_error(value: Any) -> None:
    """Text or none, always with a valid encoding."""
    for words in (agent_words(value), user_words(value)):
        assert words.text is None or words.text.strip()
        assert words.text is None or words.text.encode()


@settings(max_examples=250, deadline=None)
@given(st.dictionaries(NAMES, VALUES | KINDS, max_size=8), SCOPES, VALUES)
def test_any_span_is_read_without_an_error(attributes: dict[str, Any], scope: str, body: Any) -> None:
    """Instrumentations of any release may put anything anywhere."""
    event = SpanEvent(name="gen_ai.choice", attributes={"message": body, "content": body})
    top = span("a", scope=scope, attributes=attributes, events=(event,))
    below = span("b", "a", scope=scope, attributes=attributes | {"gen_ai.operation.name": "chat"})
    is_agent_span(top)
    for call in agent_calls([below, top]):
        assert call.output is None or call.output.strip()
        assert call.text_source is None or call.output is not None


@settings(max_examples=200, deadline=None)
@given(VALUES, st.integers(0, 400))
def test_any_cut_value_is_read_without_an_error(value: Any, length: int) -> None:
    """A length limit may cut anywhere, also where nothing can be made of it."""
    agent_words(json.dumps(value)[:length])
    user_words(json.dumps(value)[:length])
