"""Pydantic AI and Logfire.

The run of an agent is known by ``invoke_agent`` or, in older releases, by ``agent_name`` beside
``model_name``. Logfire's instrumentations of OpenAI and of OpenAI Agents keep requests and responses in
attributes of their own. Logfire also sends a copy of each span when it starts, as ``pending_span``: a copy is
never a call.
"""

from collections.abc import Iterator

from tracehooks.calls.dialect import Attributes, Dialect, Kind, Passage, attributes_named
from tracehooks.calls.span import SpanRecord

AGENT_NAME = "agent_name"
RESULT = "final_result"
ALL_MESSAGES = "pydantic_ai.all_messages"
EVENTS = "all_messages_events"
SPAN_TYPE = "logfire.span_type"
PENDING = "pending_span"
REQUEST = "request_data"
RESPONSE = "response_data"

_SCOPE = "pydantic-ai"
OPENAI_AGENTS = "logfire.openai_agents"
_AGENT_RUNS = ("OpenAI Agents trace", "Agent run")
_TOOL = "Function"


def kind(name: str, scope: str, attributes: Attributes) -> Kind | None:
    """What the span is, when it is Pydantic AI's or Logfire's."""
    if scope.startswith(_SCOPE):
        return Kind.AGENT if AGENT_NAME in attributes and "model_name" in attributes else None
    if scope == OPENAI_AGENTS and name.startswith((*_AGENT_RUNS, _TOOL)):
        return Kind.ASIDE if name.startswith(_TOOL) else Kind.AGENT
    return Kind.MODEL if REQUEST in attributes and RESPONSE in attributes else None


def outputs(span: SpanRecord) -> Iterator[Passage]:
    """The run's result, then its messages; a request's response."""
    yield from _outputs(span)
    if (value := span.attributes.get(RESPONSE)) is not None:
        yield Passage(RESPONSE, value)


_outputs = attributes_named(RESULT, ALL_MESSAGES, EVENTS, "events")

DIALECT = Dialect(
    name="pydantic_ai",
    markers=(AGENT_NAME, RESULT, RESPONSE, SPAN_TYPE),
    kind=kind,
    outputs=outputs,
    inputs=attributes_named(ALL_MESSAGES, EVENTS, "events", REQUEST),
    names=("gen_ai.agent.name", AGENT_NAME, "logfire.msg"),
)
