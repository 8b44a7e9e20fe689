"""Our own spans, as ``@traced`` records them (scope ``tracehooks``).

Only ``tracehooks.kind`` decides: ``agent`` is an agent span, a ``generation`` a model request, a ``tool`` or
``retriever`` an aside, a ``chain`` a step.
"""

from typing import Any

from tracehooks.calls.dialect import Dialect, Kind, attributes_named

SCOPE = "tracehooks"
KIND = "tracehooks.kind"
INTERNAL = "tracehooks.internal"
INPUT = "tracehooks.input"
OUTPUT = "tracehooks.output"

_KINDS = {
    "agent": Kind.AGENT,
    "generation": Kind.MODEL,
    "tool": Kind.ASIDE,
    "retriever": Kind.ASIDE,
    "chain": Kind.STEP,
}


def kind(span: Any, scope: str) -> Kind | None:
    """What one of our spans is; None for anybody else's."""
    if scope != SCOPE:
        return None
    return _KINDS.get(span.attributes.get(KIND), Kind.STEP)


DIALECT = Dialect(
    name="tracehooks",
    kind=kind,
    outputs=attributes_named(OUTPUT),
    inputs=attributes_named(INPUT),
    names=("gen_ai.agent.name",),
    sessions=("session.id",),
    users=("user.id",),
    tags=("tracehooks.tags",),
    versions=("gen_ai.agent.version",),
    metadata=("tracehooks.metadata",),
)
