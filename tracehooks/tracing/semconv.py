"""Every attribute name and fixed value that our spans carry.

The ``gen_ai.*`` names are those of the OpenTelemetry GenAI conventions, written out because the constants of
``opentelemetry.semconv`` are all deprecated there in favour of another repository:
https://github.com/open-telemetry/semantic-conventions-genai
"""

from typing import Literal

Kind = Literal["agent", "tool", "chain", "retriever", "generation"]

SCOPE = "tracehooks"

# GenAI conventions
OPERATION_NAME = "gen_ai.operation.name"
AGENT_NAME = "gen_ai.agent.name"
AGENT_VERSION = "gen_ai.agent.version"
TOOL_NAME = "gen_ai.tool.name"
WORKFLOW_NAME = "gen_ai.workflow.name"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"

# General conventions
SESSION_ID = "session.id"
USER_ID = "user.id"
ERROR_TYPE = "error.type"
ENVIRONMENT = "deployment.environment.name"
ENVIRONMENT_BEFORE = "deployment.environment"
SERVICE_NAME = "service.name"
EXCEPTION_EVENT = "exception"
EXCEPTION_TYPE = "exception.type"
EXCEPTION_MESSAGE = "exception.message"
EXCEPTION_STACKTRACE = "exception.stacktrace"
EXCEPTION_ESCAPED = "exception.escaped"

# Our own
KIND = "tracehooks.kind"
INPUT = "tracehooks.input"  # JSON object {parameter name: value}, or the cut mark
OUTPUT = "tracehooks.output"  # JSON of the result, or the cut mark
COMPLETE = "tracehooks.complete"  # False when the caller left before the end; absent otherwise
TAGS = "tracehooks.tags"  # list of str
METADATA = "tracehooks.metadata"  # JSON object
VERSION = "tracehooks.version"  # of anything but an agent, which has a name of its own for it
PARENT_AGENT = "tracehooks.parent_agent.id"  # span id of the enclosing agent; absent on outermost ones
INTERNAL = "tracehooks.internal"  # True on the spans of our own bookkeeping; never sampled

OPERATIONS: dict[Kind, str] = {
    "agent": "invoke_agent",
    "tool": "execute_tool",
    "chain": "invoke_workflow",
    "retriever": "retrieval",
    "generation": "chat",
}

NAMES: dict[Kind, str] = {
    "agent": AGENT_NAME,
    "tool": TOOL_NAME,
    "chain": WORKFLOW_NAME,
}
