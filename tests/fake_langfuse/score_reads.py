"""``GET v3/scores``: by cursor."""

from collections.abc import Callable, Iterable
from typing import Any

from tests.fake_langfuse import paging, zod
from tests.fake_langfuse.project import Project
from tests.fake_langfuse.scores import Score
from tests.fake_langfuse.wire import Answer, Request

_GROUPS = ["core", "details", "subject", "annotation"]
_V3_PARAMETERS = {
    "limit", "cursor", "fields", "id", "name", "source", "dataType", "environment", "configId", "queueId",
    "authorUserId", "value", "valueMin", "valueMax", "traceId", "sessionId", "observationId", "experimentId",
    "fromTimestamp", "toTimestamp",
}  # fmt: skip
LISTED: dict[
    str, Callable[[Score], Any]
] = {  # comma-separated parameters of v3/scores, and what they are compared with
    "id": lambda row: row.id,
    "name": lambda row: row["name"],
    "source": lambda row: row["source"],
    "dataType": lambda row: row.data_type,
    "environment": lambda row: row.environment,
    "configId": lambda row: row["configId"],
    "queueId": lambda row: row["queueId"],
    "observationId": lambda row: row["observationId"],
}


def v3(project: Project, request: Request) -> Answer:
    """``GET v3/scores``: strict about its parameters, newest first, pages of at most 100 by cursor."""
    _check_v3(request)
    limit = paging.number(request, "limit", 50, most=100)
    after = paging.read_cursor(request.one("cursor"), "lastTimestamp", "lastId")
    rows = _matching_v3(project, request)
    if after:
        last = (after["lastTimestamp"], after["lastId"])
        rows = [row for row in rows if (row.timestamp, row.id) < last]
    groups = _groups(request)
    meta: dict[str, Any] = {"limit": limit}
    if len(rows) > limit:
        last_row = rows[limit - 1]
        meta["cursor"] = paging.cursor(v=1, lastTimestamp=last_row.timestamp, lastId=last_row.id)
    return Answer(200, {"data": [as_v3(row, groups) for row in rows[:limit]], "meta": meta})


def as_v3(row: Score, groups: Iterable[str] = _GROUPS) -> dict[str, Any]:
    """One score as v3/scores gives it, with the field ``groups`` asked for."""
    said: dict[str, Any] = {
        "id": row.id,
        "projectId": "lab-project",
        "name": row["name"],
        "source": row["source"],
        "timestamp": row.timestamp,
        "environment": row.environment,
        "createdAt": row.created_at,
        "updatedAt": row.updated_at,
    }
    if "details" in groups:
        said |= {"comment": row["comment"], "configId": row["configId"], "metadata": row.metadata}
    if "annotation" in groups:
        said |= {"authorUserId": None, "queueId": row["queueId"]}
    if "subject" in groups:
        said["subject"] = _subject(row)
    return said | {"dataType": row.data_type, "value": row.value}


def _check_v3(request: Request) -> None:
    unknown = [name for name in request.query if name not in _V3_PARAMETERS | {"userId", "traceTags"}]
    if unknown:
        names = ", ".join(f'"{name}"' for name in unknown)
        message = f"Unrecognized key{'s' if len(unknown) > 1 else ''}: {names}"
        raise zod.refused([{"code": "unrecognized_keys", "keys": unknown, "path": [], "message": message}])
    for name in ("userId", "traceTags"):
        if request.one(name):
            message = (
                f"{name} filter requires a trace JOIN and is not supported in v3 — use v2 or omit this filter"
            )
            raise zod.refused([zod.custom([], message)])
    if request.one("observationId") and not request.one("traceId"):
        message = "observationId filter requires traceId — observation IDs are scoped to a trace"
        raise zod.refused([zod.custom([], message)])
    if sum(bool(request.one(name)) for name in ("traceId", "sessionId", "experimentId")) > 1:
        message = "At most one of traceId, sessionId, experimentId may be specified"
        raise zod.refused([zod.custom([], message)])
    by_value = any(request.one(name) for name in ("value", "valueMin", "valueMax"))
    if by_value and request.one("dataType") not in ("NUMERIC", "BOOLEAN", "CATEGORICAL"):
        message = "value filter requires a single dataType from: NUMERIC, BOOLEAN, CATEGORICAL"
        raise zod.refused([zod.custom([], message)])


def _groups(request: Request) -> list[str]:
    groups = [name for name in (request.one("fields") or "").split(",") if name]
    for place, name in enumerate(groups):
        if name not in _GROUPS:
            raise zod.refused([zod.not_one_of(_GROUPS, ["fields", place])])
    return groups


def _matching_v3(project: Project, request: Request) -> list[Score]:
    rows = _candidates(project, request)
    for name, of in LISTED.items():
        wanted = (request.one(name) or "").split(",")
        if wanted != [""]:
            rows = [row for row in rows if of(row) in wanted]
    for name in ("traceId", "sessionId"):
        if request.one(name):
            rows = [row for row in rows if row[name] in (request.one(name) or "").split(",")]
    if request.one("experimentId"):
        rows = [row for row in rows if row["datasetRunId"] == request.one("experimentId")]
    rows = _by_value(request, in_window(request, rows))
    if project.scores.replaced:
        rows = _one_each(rows)
    return sorted(rows, key=lambda row: (row.timestamp, row.id), reverse=True)


def _candidates(project: Project, request: Request) -> list[Score]:
    """Few rows to look at, where the request names an id or a trace; by name also those renamed since."""
    ids, trace = request.one("id"), request.one("traceId")
    if ids:
        return [row for score_id in ids.split(",") for row in project.scores.with_id(score_id)]
    if trace:
        rows = [row for one in trace.split(",") for row in project.scores.of_trace(one)]
    else:
        rows = list(project.scores)
    if request.one("name"):
        rows += [row for replaced in project.scores.replaced.values() for row in replaced]
    return rows


def _one_each(rows: list[Score]) -> list[Score]:
    """Without second rows of one id and day; the current one comes first in ``rows``."""
    return list({(row.id, row.timestamp): row for row in reversed(rows)}.values())


def _by_value(request: Request, rows: list[Score]) -> list[Score]:
    value, low, high = (request.one(name) for name in ("value", "valueMin", "valueMax"))
    if value is not None:
        wanted = value.split(",")
        rows = [row for row in rows if _as_text(row.value) in wanted]
    if low is not None:
        rows = [row for row in rows if row["value"] >= float(low)]
    if high is not None:
        rows = [row for row in rows if row["value"] <= float(high)]
    return rows


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else f"{value:g}"


def in_window(request: Request, rows: list[Score]) -> list[Score]:
    """The ``rows`` of the asked window: from inclusive, to exclusive."""
    start, end = paging.moment(request, "fromTimestamp"), paging.moment(request, "toTimestamp")
    if start:
        rows = [row for row in rows if row.timestamp >= start]
    if end:
        rows = [row for row in rows if row.timestamp < end]
    return rows


def _subject(row: Score) -> dict[str, Any]:
    if row["observationId"]:
        return {"kind": "observation", "id": row["observationId"], "traceId": row["traceId"]}
    if row["traceId"]:
        return {"kind": "trace", "id": row["traceId"]}
    if row["sessionId"]:
        return {"kind": "session", "id": row["sessionId"]}
    return {"kind": "experiment", "id": row["datasetRunId"]}
