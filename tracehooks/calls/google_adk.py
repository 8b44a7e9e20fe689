"""Google's Agent Development Kit (scope ``gcp.vertex.agent``).

It speaks GenAI conventions; in its older format a model's text is in ``gcp.vertex.agent.llm_response``.
"""

from tracehooks.calls.dialect import Attributes, Dialect, Kind, attributes_named

REQUEST = "gcp.vertex.agent.llm_request"
RESPONSE = "gcp.vertex.agent.llm_response"

SCOPES = ("gcp.vertex.agent", "google.adk", "google_adk")


def kind(name: str, scope: str, _attributes: Attributes) -> Kind | None:
    """What a span of ADK is, by its name; None for anybody else's."""
    if scope not in SCOPES:
        return None
    if name.startswith(("agent_run", "invoke_agent", "invoke_workflow")):
        return Kind.AGENT
    if name == "call_llm":
        return Kind.MODEL
    return Kind.ASIDE if name.startswith(("execute_tool", "tool_call", "tool_response")) else None


DIALECT = Dialect(
    name="google_adk",
    markers=(REQUEST, RESPONSE, "gcp.vertex.agent.invocation_id"),
    kind=kind,
    outputs=attributes_named(RESPONSE),
    inputs=attributes_named(REQUEST),
    sessions=("gcp.vertex.agent.session_id",),
)
