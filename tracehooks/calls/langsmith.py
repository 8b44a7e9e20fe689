"""LangSmith's OpenTelemetry export: LangChain, LangGraph and ``@traceable`` functions.

It calls everything a ``chain``. One called LangGraph is an agent span, any other an entry.
"""

from tracehooks.calls.dialect import Attributes, Dialect, Kind, attributes_named

KIND = "langsmith.span.kind"

_KINDS = {
    "chain": Kind.ENTRY,
    "llm": Kind.MODEL,
    "tool": Kind.ASIDE,
    "retriever": Kind.ASIDE,
    "embedding": Kind.ASIDE,
}
_NODE = "langsmith.metadata.langgraph_node"


def kind(name: str, _scope: str, attributes: Attributes) -> Kind | None:
    """What the run's type says; None when the span has none."""
    said = attributes.get(KIND)
    if said is None:
        return None
    found = _KINDS.get(str(said), Kind.STEP)
    if found is not Kind.ENTRY:
        return found
    if _NODE in attributes:
        return Kind.STEP
    return Kind.CHAIN if name == "LangGraph" else Kind.ENTRY


DIALECT = Dialect(
    name="langsmith",
    markers=(KIND,),
    kind=kind,
    outputs=attributes_named("gen_ai.completion"),
    inputs=attributes_named("gen_ai.prompt"),
    names=("langsmith.trace.name",),
    sessions=("langsmith.metadata.session_id", "langsmith.metadata.thread_id"),
    users=("langsmith.metadata.user_id",),
    tags=("langsmith.span.tags",),
    metadata=("langsmith.metadata.",),
)
