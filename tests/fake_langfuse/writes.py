"""``POST``: spans, scores and ingestion events, each with the refusals of its mode."""

from typing import Any

from tests.fake_langfuse import events, otlp, score_rules, zod
from tests.fake_langfuse.project import Project
from tests.fake_langfuse.spans import observation
from tests.fake_langfuse.times import milliseconds
from tests.fake_langfuse.wire import Answer, RefusedError, Request


def spans(project: Project, request: Request) -> Answer:
    """``POST otel/v1/traces``: answers with the dump of a queue job, not with an OTLP response."""
    version = request.headers.get("x-langfuse-ingestion-version", "")
    if version and (not version.isdigit() or int(version) > 4):
        message = f'Unsupported x-langfuse-ingestion-version: "{version}". Maximum supported: "4".'
        raise RefusedError(Answer(400, {"error": message}))
    read = otlp.read(request.headers.get("content-type", ""), request.body)
    if not read:
        return Answer(200, {})
    stamp = project.stamp()
    made = [observation(span, stamp) for span in read]
    experiment = any(one.environment == "sdk-experiment" for one in made)
    project.write_spans(made, direct=version == "4" or experiment or _new_sdk(request))
    return Answer(200, _job(project, request, version))


def _new_sdk(request: Request) -> bool:
    """The Python SDK from 4 on needs no ingestion version; its major is in a header."""
    major = request.headers.get("x-langfuse-sdk-version", "").split(".")[0]
    name = request.headers.get("x-langfuse-sdk-name", "")
    return name == "python" and major.isdigit() and int(major) >= 4


def _job(project: Project, request: Request, version: str) -> dict[str, Any]:
    scope = {"projectId": project.id, "accessLevel": "project", "orgId": "lab-org"}
    data = {"fileKey": f"events/otel/{project.id}/{project.new_id()}.json", "publicKey": "pk-lf-lab-0000"}
    payload = {
        "data": data,
        "authCheck": {"validKey": True, "scope": scope},
        "sdkName": request.headers.get("x-langfuse-sdk-name", ""),
        "sdkVersion": request.headers.get("x-langfuse-sdk-version", ""),
        "ingestionVersion": version,
    }
    name = "otel-ingestion-job"
    job = {"id": project.new_id(), "timestamp": project.stamp(), "name": name, "payload": payload}
    backoff = {"type": "exponential", "delay": 5000}
    trace = f"00-{'1' * 32}-{'1' * 16}-01"
    opts = {"attempts": 6, "removeOnComplete": True, "removeOnFail": 100000, "backoff": backoff,
            "traceparent": trace, "baggage": f"langfuse.project.id={project.id}"}  # fmt: skip
    return {"name": name, "data": job, "opts": opts, "id": "1", "progress": 0, "returnvalue": None,
            "stacktrace": None, "priority": 0, "attemptsStarted": 0, "attemptsMade": 0, "stalledCounter": 0,
            "timestamp": int(project.clock.told() * 1000),
            "queueQualifiedName": "bull:otel-ingestion-queue"}  # fmt: skip


def scores(project: Project, request: Request) -> Answer:
    """``POST scores``: one object everywhere; a list only from 4.59 on."""
    body = request.json
    if isinstance(body, list):
        if not project.mode.score_lists:
            issue = zod.wrong_type("object", body, [])
            raise zod.refused([issue, issue])
        return _score_list(project, body)
    one = zod.needs_object(body)
    zod.check(score_rules.issues(one))
    return Answer(200, {"id": _take(project, one)})


def _score_list(project: Project, bodies: list[Any]) -> Answer:
    """A list: 202 where all are taken, else 207 with counts and messages, which name no id."""
    errors = []
    for place, body in enumerate(bodies):
        found = score_rules.issues(body) if isinstance(body, dict) else [zod.wrong_type("object", body, [])]
        found += zod.time_issues(body, "timestamp") if isinstance(body, dict) else []
        if found:
            errors.append({"message": f"Score {place}: {found[0]['message']}"})
        else:
            _take(project, body)
    if not errors:
        return Answer(202, {"message": "Accepted"})
    accepted = len(bodies) - len(errors)
    return Answer(207, {"accepted": accepted, "rejected": len(errors), "errors": errors})


def _take(project: Project, body: dict[str, Any]) -> str:
    score_id = body.get("id") or project.new_id()
    project.write_score(body | {"id": score_id}, timestamp=milliseconds(body.get("timestamp")))
    return str(score_id)


def delete_score(project: Project, request: Request, score_id: str) -> Answer:
    """``DELETE scores/{id}``: 202 always."""
    project.delete_scores(project.scores.with_id(score_id))
    message = "Score deletion queued successfully"
    return Answer(202, {"message": message})


def ingestion(project: Project, request: Request) -> Answer:
    """``POST ingestion``: 207 with a result for each event."""
    batch = _batch(request)
    successes: list[dict[str, Any]] = []
    errors: list[dict[str, Any]] = []
    for event in batch:
        failure = events.take(project, event)
        if failure is None:
            successes.append({"id": event["id"], "status": 201})
        else:
            errors.append(failure)
    errors.sort(key=lambda one: one["message"] == events.NOT_ACCEPTED)  # these come last
    return Answer(207, {"successes": successes, "errors": errors})


def _batch(request: Request) -> list[Any]:
    body = request.json
    if not isinstance(body, dict):
        message = zod.wrong_type("object", body, [])["message"]
        raise RefusedError(Answer(400, {"message": "Invalid request data", "errors": [message]}))
    batch = body.get("batch", ...)
    if not isinstance(batch, list):
        message = zod.wrong_type("array", batch, [])["message"]
        raise RefusedError(Answer(400, {"message": "Invalid request data", "errors": [message]}))
    return batch


def delete_trace(project: Project, request: Request, trace_id: str) -> Answer:
    """``DELETE traces/{id}``: says yes whether it exists or not."""
    project.delete_trace(trace_id)
    return Answer(200, {"message": "Trace deleted successfully"})


def delete_traces(project: Project, request: Request) -> Answer:
    """``DELETE traces`` with ``traceIds`` in the body."""
    ids = request.json.get("traceIds") if isinstance(request.json, dict) else None
    if not isinstance(ids, list):
        raise zod.refused([zod.wrong_type("array", ... if ids is None else ids, ["traceIds"])])
    if not ids:
        issue = zod.too_small("array", 1, ["traceIds"]) | {"message": "At least 1 traceId is required."}
        raise zod.refused([issue])
    for trace_id in ids:
        project.delete_trace(trace_id)
    return Answer(200, {"message": "Traces deleted successfully"})
