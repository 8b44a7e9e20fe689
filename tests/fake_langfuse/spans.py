"""What Langfuse makes of a span: an observation."""

import json
from collections.abc import Mapping
from typing import Any

from tests.fake_langfuse.observations import Observation
from tests.fake_langfuse.otlp import Span
from tests.fake_langfuse.prices import price
from tests.fake_langfuse.score_rules import environment
from tests.fake_langfuse.times import iso_ms

TYPES = (
    "GENERATION", "SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING",
    "GUARDRAIL",
)  # fmt: skip
_OPENINFERENCE = {"LLM": "GENERATION", "RERANKER": "SPAN", "UNKNOWN": "SPAN"}
_OPERATIONS = {
    "chat": "GENERATION",
    "completion": "GENERATION",
    "text_completion": "GENERATION",
    "generate_content": "GENERATION",
    "generate": "GENERATION",
    "embeddings": "EMBEDDING",
    "invoke_agent": "AGENT",
    "create_agent": "AGENT",
    "execute_tool": "TOOL",
}
_INPUTS = (
    "langfuse.observation.input", "ai.prompt.messages", "ai.prompt", "ai.toolCall.args", "lk.input_text",
    "input.value", "gen_ai.input.messages", "gen_ai.prompt", "traceloop.entity.input", "mlflow.spanInputs",
    "gen_ai.tool.call.arguments", "tool_arguments",
)  # fmt: skip
_OUTPUTS = (
    "langfuse.observation.output", "ai.response.text", "ai.result.text", "ai.response.toolCalls",
    "ai.response.object", "ai.toolCall.result", "lk.response.text", "output.value", "final_result",
    "gen_ai.output.messages", "gen_ai.completion", "traceloop.entity.output", "mlflow.spanOutputs",
    "gen_ai.tool.call.result", "tool_response",
)  # fmt: skip
_GENAI_INPUT = (
    "gen_ai.system.message",
    "gen_ai.user.message",
    "gen_ai.assistant.message",
    "gen_ai.tool.message",
)


def observation(span: Span, stamp: str) -> Observation:
    """The observation of ``span``, received at ``stamp``."""
    own, resource = span.attributes, span.resource
    made = Observation(
        id=span.span_id,
        trace_id=span.trace_id,
        start=iso_ms(span.start // 1_000_000),
        end=iso_ms(span.end // 1_000_000) if span.end else None,
        parent_id=span.parent_id or None,
        type=_type(own),
        name=str(own.get("gen_ai.tool.name") or span.name),
        level=_level(span),
        status_message=str(own.get("langfuse.observation.status_message") or span.message or ""),
        environment=_environment(own, resource),
        version=str(
            _first(own, "langfuse.version") or _first(resource, "langfuse.version", "service.version") or ""
        ),
        release=str(_first(own, "langfuse.release") or _first(resource, "langfuse.release") or ""),
        user_id=str(_first(own, "langfuse.user.id", "user.id") or ""),
        session_id=str(_first(own, "langfuse.session.id", "session.id", "gen_ai.conversation.id") or ""),
        trace_name=_optional(own.get("langfuse.trace.name")),
        tags=_tags(own.get("langfuse.trace.tags")),
        app_root=own.get("langfuse.internal.is_app_root") in (True, "true"),
        created_at=stamp,
        updated_at=stamp,
    )
    made.input, made.output = _text(_first(own, *_INPUTS)), _text(_first(own, *_OUTPUTS))
    _from_events(made, span)
    made.trace_metadata = _metadata(own, "langfuse.trace.metadata")
    made.metadata = _metadata(own, "langfuse.observation.metadata")
    made.metadata |= _about(span)
    _model(made, own)
    made.experiment = _experiment(own)
    return made


def _first(attributes: Mapping[str, Any], *names: str) -> Any:
    return next((attributes[name] for name in names if attributes.get(name) not in (None, "")), None)


def _optional(value: Any) -> str | None:
    return None if value is None else str(value)


def _text(value: Any) -> str | None:
    """Input and output are texts, whatever they were."""
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _type(own: Mapping[str, Any]) -> str:
    asked = str(own.get("langfuse.observation.type", "")).upper()
    if asked in TYPES:
        return asked
    kind = str(own.get("openinference.span.kind", "")).upper()
    if kind:
        kind = _OPENINFERENCE.get(kind, kind)
        return kind if kind in TYPES else "SPAN"
    operation = _OPERATIONS.get(str(own.get("gen_ai.operation.name", "")))
    if operation:
        return operation
    if own.get("gen_ai.tool.name") or own.get("gen_ai.tool.call.id"):
        return "TOOL"
    return "GENERATION" if _first(own, "langfuse.observation.model.name", "gen_ai.request.model") else "SPAN"


def _level(span: Span) -> str:
    asked = span.attributes.get("langfuse.observation.level")
    if asked in ("DEBUG", "DEFAULT", "WARNING", "ERROR"):
        return str(asked)
    return "ERROR" if span.status == 2 else "DEFAULT"


def _environment(own: Mapping[str, Any], resource: Mapping[str, Any]) -> str:
    names = ("langfuse.environment", "deployment.environment.name", "deployment.environment")
    return environment(_first(own, *names) or _first(resource, *names))


def _tags(value: Any) -> list[str]:
    if isinstance(value, str):
        value = decoded(value) if value.startswith("[") else value.split(",")
    return [str(tag) for tag in value] if isinstance(value, list) else []


def decoded(value: Any) -> Any:
    """A JSON text as what it says; anything else as it is."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _metadata(own: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    whole = decoded(own.get(prefix))
    found = dict(whole) if isinstance(whole, dict) else {}
    start = prefix + "."
    found |= {name.removeprefix(start): decoded(own[name]) for name in own if name.startswith(start)}
    return found


def _about(span: Span) -> dict[str, Any]:
    """Resource and scope, which the server puts into the metadata, and every attribute it does not know."""
    known = ("langfuse.", "user.id", "session.id")
    rest = {name: value for name, value in span.attributes.items() if not name.startswith(known)}
    found: dict[str, Any] = {"attributes": rest} if rest else {}
    return found | {"resourceAttributes": span.resource, "scope": span.scope}


def _model(made: Observation, own: Mapping[str, Any]) -> None:
    made.model = str(
        _first(
            own,
            "langfuse.observation.model.name",
            "gen_ai.response.model",
            "gen_ai.request.model",
            "llm.model_name",
        )
        or ""
    )
    parameters = decoded(own.get("langfuse.observation.model.parameters"))
    made.model_parameters = parameters if isinstance(parameters, dict) else {}
    usage = decoded(own.get("langfuse.observation.usage_details"))
    made.usage = dict(usage) if isinstance(usage, dict) else _genai_usage(own)
    cost = decoded(own.get("langfuse.observation.cost_details"))
    made.cost = dict(cost) if isinstance(cost, dict) else {}
    for details in (made.usage, made.cost):
        if details and "total" not in details:
            details["total"] = sum(value for value in details.values() if isinstance(value, int | float))
    price(made)
    started = decoded(own.get("langfuse.observation.completion_start_time"))
    made.completion_start = started if isinstance(started, str) else None
    made.prompt_name = str(own.get("langfuse.observation.prompt.name") or "")
    version = own.get("langfuse.observation.prompt.version")
    made.prompt_version = int(version) if version is not None else None


def _genai_usage(own: Mapping[str, Any]) -> dict[str, Any]:
    names = {
        "input": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
        "output": ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
    }
    found = {key: _first(own, *each) for key, each in names.items()}
    return {key: int(value) for key, value in found.items() if value is not None}


def _from_events(made: Observation, span: Span) -> None:
    """Messages in span events count where no attribute has any."""
    asked = [{"role": name.split(".")[1], **said} for name, said in span.events if name in _GENAI_INPUT]
    answered = [said for name, said in span.events if name == "gen_ai.choice"]
    if made.input is None and asked:
        made.input = json.dumps(asked)
    if made.output is None and answered:
        made.output = json.dumps(answered[0] if len(answered) == 1 else answered)


def _experiment(own: Mapping[str, Any]) -> dict[str, str] | None:
    start = "langfuse.experiment."
    found = {name.removeprefix(start): str(own[name]) for name in own if name.startswith(start)}
    return found if found.get("id") else None
