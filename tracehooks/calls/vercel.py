"""The Vercel AI SDK (scope ``ai``), from JavaScript services.

``ai.generateText`` and its kin run the loop of model and tools: agent spans. The requests inside
(``ai.generateText.doGenerate``) are model spans, ``ai.toolCall`` an aside.
"""

from tracehooks.calls.dialect import Attributes, Dialect, Kind, attributes_named

OPERATION = "ai.operationId"

_LOOPS = frozenset(
    (
        *("ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject"),
        *("ai.agent.generate", "ai.agent.stream"),
    )
)
_METADATA = "ai.telemetry.metadata."


def kind(_name: str, _scope: str, attributes: Attributes) -> Kind | None:
    """What the operation's id says; None when the span has none."""
    if OPERATION not in attributes:
        return None
    operation = str(attributes[OPERATION])
    if operation in _LOOPS:
        return Kind.AGENT
    return Kind.MODEL if operation.endswith((".doGenerate", ".doStream")) else Kind.ASIDE


DIALECT = Dialect(
    name="vercel",
    markers=(OPERATION,),
    kind=kind,
    outputs=attributes_named("ai.response.text", "ai.response.object", "ai.result.text", "ai.result.object"),
    inputs=attributes_named("ai.prompt", "ai.prompt.messages"),
    names=("ai.telemetry.functionId",),
    sessions=(_METADATA + "sessionId", _METADATA + "session_id"),
    users=(_METADATA + "userId", _METADATA + "user_id"),
    tags=(_METADATA + "tags",),
    metadata=(_METADATA,),
)
