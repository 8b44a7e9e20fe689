"""Spans of Langfuse's own SDK: ``@observe``, its openai wrapper and its LangChain handler.

An ``agent`` observation is an agent span, and so is a chain called LangGraph. Plain observations (``span``,
the default, and ``chain``) are entries: calls only where nobody in the trace is an agent. LangGraph's nodes
that happen to be called agent are steps.

These names are Langfuse's and are read only; what we send to Langfuse is its exporter's business.
"""

from tracehooks.calls.dialect import Attributes, Dialect, Kind, attributes_named

TYPE = "langfuse.observation.type"
INPUT = "langfuse.observation.input"
OUTPUT = "langfuse.observation.output"

_NODE = "langfuse.observation.metadata.langgraph_node"
_KINDS = {
    "agent": Kind.AGENT,
    "span": Kind.ENTRY,
    "chain": Kind.ENTRY,
    "generation": Kind.MODEL,
    "tool": Kind.ASIDE,
    "retriever": Kind.ASIDE,
    "embedding": Kind.ASIDE,
    "evaluator": Kind.ASIDE,
    "guardrail": Kind.ASIDE,
}


def kind(name: str, _scope: str, attributes: Attributes) -> Kind | None:
    """What the observation's type says; None when the span has none."""
    said = attributes.get(TYPE)
    if said is None:
        return None
    found = _KINDS.get(str(said).lower(), Kind.STEP)
    if found is Kind.AGENT and _NODE in attributes:
        return Kind.STEP
    return Kind.CHAIN if found is Kind.ENTRY and name == "LangGraph" else found


DIALECT = Dialect(
    name="langfuse",
    markers=(TYPE,),
    kind=kind,
    outputs=attributes_named(OUTPUT, "langfuse.trace.output"),
    inputs=attributes_named(INPUT, "langfuse.trace.input"),
    sessions=("session.id", "langfuse.session.id"),
    users=("user.id", "langfuse.user.id"),
    tags=("langfuse.trace.tags",),
    versions=("langfuse.version", "langfuse.release"),
    environments=("langfuse.environment",),
    metadata=("langfuse.trace.metadata.", "langfuse.observation.metadata."),
)
