"""MLflow's tracing. It keeps the span's type, inputs and outputs as JSON in attributes.

``AGENT`` spans are agent spans; chains, workflows and functions without a type are entries.
"""

from tracehooks.calls.dialect import Attributes, Dialect, Kind, attributes_named

TYPE = "mlflow.spanType"
INPUT = "mlflow.spanInputs"
OUTPUT = "mlflow.spanOutputs"

_KINDS = {
    "AGENT": Kind.AGENT,
    "CHAIN": Kind.ENTRY,
    "WORKFLOW": Kind.ENTRY,
    "UNKNOWN": Kind.ENTRY,
    "CHAT_MODEL": Kind.MODEL,
    "LLM": Kind.MODEL,
    "TOOL": Kind.ASIDE,
    "RETRIEVER": Kind.ASIDE,
    "RERANKER": Kind.ASIDE,
    "EMBEDDING": Kind.ASIDE,
    "GUARDRAIL": Kind.ASIDE,
    "EVALUATOR": Kind.ASIDE,
}


def kind(name: str, _scope: str, attributes: Attributes) -> Kind | None:
    """What the span's type says; None when it has none."""
    said = attributes.get(TYPE)
    if said is None:
        return None
    found = _KINDS.get(str(said).strip('"'), Kind.STEP)
    return Kind.CHAIN if found is Kind.ENTRY and name == "LangGraph" else found


DIALECT = Dialect(
    name="mlflow",
    markers=(TYPE,),
    kind=kind,
    outputs=attributes_named(OUTPUT),
    inputs=attributes_named(INPUT),
    sessions=("mlflow.trace.session",),
    users=("mlflow.trace.user",),
)
