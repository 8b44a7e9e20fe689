"""One event of ``POST ingestion``."""

import json
from typing import Any

from tests.fake_langfuse import score_rules, zod
from tests.fake_langfuse.observations import Observation, Trace
from tests.fake_langfuse.prices import price
from tests.fake_langfuse.project import Project
from tests.fake_langfuse.score_rules import environment
from tests.fake_langfuse.times import iso_ms, milliseconds
from tests.fake_langfuse.zod import Issue

_OBSERVATIONS = ("observation-create", "observation-update", "span-create", "span-update",
                 "generation-create", "generation-update", "event-create", "agent-create", "tool-create",
                 "chain-create", "retriever-create", "evaluator-create", "embedding-create",
                 "guardrail-create")  # fmt: skip
_KNOWN = ("trace-create", "score-create", "sdk-log", *_OBSERVATIONS)
NOT_ACCEPTED = "Event type not accepted"
_REFUSED = (
    'Event type "{}" is not accepted by /api/public/ingestion when LANGFUSE_MIGRATION_V4_WRITE_MODE is '
    "events_only. This endpoint only accepts score and log events."
)


def take(project: Project, event: Any) -> dict[str, Any] | None:
    """Takes ``event``; None where that went well, else its entry among the ``errors``."""
    if project.mode.events_only and not _accepted(event):
        return _not_accepted(event)
    if not isinstance(event, dict):
        return _error("unknown", [zod.wrong_type("object", event, [])])
    found = _issues(event)
    if found:
        return _error(event.get("id"), found)
    kind = event["type"]
    if kind == "score-create":
        _score(project, event)
    elif kind == "trace-create":
        _trace(project, event["body"])
    elif kind in _OBSERVATIONS:
        _observation(project, kind, event["body"])
    return None


def _accepted(event: Any) -> bool:
    return isinstance(event, dict) and event.get("type") in ("score-create", "sdk-log")


def _not_accepted(event: Any) -> dict[str, Any]:
    """An events-only server says this of everything but scores and logs, however broken it is."""
    said = event if isinstance(event, dict) else {}
    why = _REFUSED.format(said.get("type", "unknown"))
    return {"id": said.get("id", "unknown"), "status": 400, "message": NOT_ACCEPTED, "error": why}


def _error(event_id: Any, found: list[Issue]) -> dict[str, Any]:
    shown = event_id if isinstance(event_id, str) else "unknown"
    return {
        "id": shown,
        "status": 400,
        "message": "Invalid request data",
        "error": json.dumps(found, indent=2),
    }


def _issues(event: dict[str, Any]) -> list[Issue]:
    if event.get("type") not in _KNOWN:
        return [zod.no_variant("type", ["type"])]
    found = zod.text_issues(event, "id", required=True) + zod.text_issues(event, "timestamp", required=True)
    found += zod.time_issues(event, "timestamp") if not found else []
    body = event.get("body", ...)
    if not isinstance(body, dict):
        return [*found, zod.wrong_type("object", body, ["body"])]
    if event["type"] == "score-create":
        inner = score_rules.issues(body)
    else:
        inner = [one for key in ("startTime", "endTime", "timestamp") for one in zod.time_issues(body, key)]
    return found + [one | {"path": ["body", *one["path"]]} for one in inner]


def _score(project: Project, event: dict[str, Any]) -> None:
    """The envelope's time becomes the score's; one in the body is ignored."""
    at = milliseconds(event["timestamp"])
    body = event["body"]
    project.write_score(body | {"id": body.get("id") or project.new_id()}, envelope=at, timestamp=at)


def _trace(project: Project, body: dict[str, Any]) -> None:
    def show() -> None:
        now = project.stamp()
        trace_id = body.get("id") or project.new_id()
        at = milliseconds(body.get("timestamp"))
        started = now if at is None else iso_ms(at)
        trace = project.traces.setdefault(trace_id, Trace(trace_id, started, created_at=now))
        trace.timestamp, trace.updated_at = started, now
        names = {"name": "name", "userId": "user_id", "sessionId": "session_id", "release": "release",
                 "version": "version", "input": "input", "output": "output", "public": "public"}  # fmt: skip
        for said, attribute in names.items():
            if body.get(said) is not None:
                setattr(trace, attribute, body[said])
        trace.tags = sorted({*trace.tags, *(body.get("tags") or [])})
        trace.metadata |= body.get("metadata") or {}
        trace.environment = environment(body.get("environment"))

    project.delayed.add(project.clock.now() + project.ingestion_delay, show)


def _observation(project: Project, kind: str, body: dict[str, Any]) -> None:
    prefix = kind.split("-")[0]
    at, end = milliseconds(body.get("startTime")), milliseconds(body.get("endTime"))
    first = milliseconds(body.get("completionStartTime"))
    now = project.stamp()
    made = Observation(
        id=body.get("id") or project.new_id(),
        trace_id=body.get("traceId") or project.new_id(),
        start=now if at is None else iso_ms(at),
        end=None if end is None else iso_ms(end),
        parent_id=body.get("parentObservationId"),
        type=body.get("type", "SPAN") if prefix == "observation" else prefix.upper(),
        name=body.get("name") or "",
        level=body.get("level") or "DEFAULT",
        status_message=body.get("statusMessage") or "",
        environment=environment(body.get("environment")),
        version=body.get("version") or "",
        metadata=body.get("metadata") or {},
        model=body.get("model") or "",
        model_parameters=body.get("modelParameters") or {},
        usage=_usage(body),
        cost=body.get("costDetails") or {},
        completion_start=None if first is None else iso_ms(first),
        created_at=now,
        updated_at=now,
    )
    price(made)
    made.input, made.output = (_as_text(body.get(name)) for name in ("input", "output"))
    project.write_spans([made], direct=False, delay=project.ingestion_delay)


def _usage(body: dict[str, Any]) -> dict[str, Any]:
    usage = body.get("usageDetails") or {k: v for k, v in (body.get("usage") or {}).items() if k != "unit"}
    return {name: value for name, value in usage.items() if isinstance(value, int | float)}


def _as_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)
