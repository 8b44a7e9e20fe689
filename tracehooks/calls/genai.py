"""OpenTelemetry's GenAI semantic conventions, whoever records them.

``invoke_agent`` and ``invoke_workflow`` operations are agent spans; ``create_agent`` is not.
"""

from typing import Any

from tracehooks.calls.dialect import Dialect, Kind, attributes_named

OPERATION = "gen_ai.operation.name"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"

_KINDS = {
    "invoke_agent": Kind.AGENT,
    "invoke_workflow": Kind.AGENT,
    "chat": Kind.MODEL,
    "text_completion": Kind.MODEL,
    "generate_content": Kind.MODEL,
    "execute_tool": Kind.ASIDE,
    "retrieval": Kind.ASIDE,
    "embeddings": Kind.ASIDE,
    "create_agent": Kind.STEP,
}


def kind(span: Any, _scope: str) -> Kind | None:
    """What the operation's name says; None when the span has none."""
    operation = span.attributes.get(OPERATION)
    return None if operation is None else _KINDS.get(operation, Kind.STEP)


DIALECT = Dialect(
    name="genai",
    kind=kind,
    outputs=attributes_named(OUTPUT_MESSAGES),
    inputs=attributes_named(INPUT_MESSAGES),
    names=("gen_ai.agent.name", "gen_ai.workflow.name"),
    sessions=("session.id", "gen_ai.conversation.id"),
    users=("user.id", "enduser.id"),
    versions=("gen_ai.agent.version",),
)
