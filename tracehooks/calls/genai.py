"""OpenTelemetry's GenAI semantic conventions, whoever records them.

Microsoft Agent Framework, AutoGen, Semantic Kernel, Strands, Pydantic AI, Google ADK and OpenLLMetry speak
it, each with additions of its own. The operations ``invoke_agent`` and ``invoke_workflow`` are agent spans;
``create_agent`` is not.

Messages come as attributes (JSON, or structured), or as events of the span: one event a message in the
older conventions, one event with all messages in the newer, one with JSON of them in Semantic Kernel.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from tracehooks.calls.decoding import decode
from tracehooks.calls.dialect import Attributes, Dialect, Kind, Passage
from tracehooks.calls.span import SpanEvent, SpanRecord

OPERATION = "gen_ai.operation.name"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"

_KINDS = {
    "invoke_agent": Kind.AGENT,
    "invoke_workflow": Kind.AGENT,
    "chat": Kind.MODEL,
    "chat.completions": Kind.MODEL,
    "chat.streaming_completions": Kind.MODEL,
    "text_completion": Kind.MODEL,
    "text.completions": Kind.MODEL,
    "generate_content": Kind.MODEL,
    "execute_tool": Kind.ASIDE,
    "retrieval": Kind.ASIDE,
    "embeddings": Kind.ASIDE,
}
_OUTPUTS = (OUTPUT_MESSAGES, "gen_ai.agent.invocation_output", "gen_ai.completion")
_INPUTS = (INPUT_MESSAGES, "gen_ai.agent.invocation_input", "gen_ai.prompt")
_OUTPUT_EVENTS = {
    "gen_ai.client.inference.operation.details": OUTPUT_MESSAGES,
    "gen_ai.content.completion": "gen_ai.completion",
}
_INPUT_EVENTS = {
    "gen_ai.client.inference.operation.details": INPUT_MESSAGES,
    "gen_ai.content.prompt": "gen_ai.prompt",
}
_CHOICE = "gen_ai.choice"
_ASKED = "gen_ai.user.message"


def kind(_name: str, _scope: str, attributes: Attributes) -> Kind | None:
    """What the operation's name says; None when the span has none that we know."""
    return _KINDS.get(str(attributes.get(OPERATION)))


def outputs(span: SpanRecord) -> Iterator[Passage]:
    """Output messages: from the attributes, else from the events, the last one first."""
    attributes = span.attributes
    yield from (Passage(name, attributes[name]) for name in _OUTPUTS if name in attributes)
    yield from _event_passages(reversed(span.events), _OUTPUT_EVENTS, _CHOICE)


def inputs(span: SpanRecord) -> Iterator[Passage]:
    """Input messages: from the attributes, else from the events, the last one first."""
    attributes = span.attributes
    yield from (Passage(name, attributes[name]) for name in _INPUTS if name in attributes)
    yield from _event_passages(reversed(span.events), _INPUT_EVENTS, _ASKED)


def _event_passages(events: Iterable[SpanEvent], holders: dict[str, str], message: str) -> Iterator[Passage]:
    for event in events:
        if event.name == message:
            yield Passage(f"event {message}", {**_opened(event.attributes), "event.name": message})
        elif (name := holders.get(event.name)) is not None and name in event.attributes:
            yield Passage(f"event {event.name}: {name}", event.attributes[name])


def _opened(attributes: Attributes) -> dict[str, Any]:
    """The event's attributes with the JSON of their content decoded."""
    return {name: decode(value)[0] for name, value in attributes.items() if name in ("content", "message")}


DIALECT = Dialect(
    name="genai",
    markers=(OPERATION,),
    kind=kind,
    outputs=outputs,
    inputs=inputs,
    names=("gen_ai.agent.name", "gen_ai.workflow.name"),
    sessions=("session.id", "gen_ai.conversation.id"),
    users=("user.id", "enduser.id"),
    versions=("gen_ai.agent.version",),
)
