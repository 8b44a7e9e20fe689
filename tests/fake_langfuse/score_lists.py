"""``GET scores`` and ``GET v2/scores``: by page."""

from collections.abc import Callable
from typing import Any

from tests.fake_langfuse import paging
from tests.fake_langfuse.project import Project
from tests.fake_langfuse.score_reads import LISTED, in_window
from tests.fake_langfuse.scores import Score
from tests.fake_langfuse.wire import Answer, Request, not_found


def v1(project: Project, request: Request) -> Answer:
    """``GET scores``: scores on traces only, whatever ``traceId`` says."""
    rows = [row for row in _listed(project, request) if row["traceId"] and row.data_type != "CORRECTION"]
    page, meta = paging.page_of(request, rows, total=sum(row.versions for row in rows))
    return Answer(
        200, {"data": [_with_trace(project, row, v1_of(row), "userId") for row in page], "meta": meta}
    )


def v2(project: Project, request: Request) -> Answer:
    """``GET v2/scores``: session and run scores too; ``traceId`` and ``sessionId`` count."""
    rows = _listed(project, request)
    for name in ("traceId", "observationId", "sessionId", "datasetRunId"):
        wanted = request.one(name)
        rows = [row for row in rows if wanted is None or row[name] == wanted]
    page, meta = paging.page_of(request, rows, total=sum(row.versions for row in rows))
    return Answer(
        200, {"data": [_with_trace(project, row, v2_of(row), "sessionId") for row in page], "meta": meta}
    )


def one_v1(project: Project, request: Request, score_id: str) -> Answer:
    """``GET scores/{id}``: hides session, run and CORRECTION scores."""
    row = _newest(project, score_id)
    if row is None or not row["traceId"] or row.data_type == "CORRECTION":
        raise not_found("Score not found")
    return Answer(200, v1_of(row))


def one_v2(project: Project, request: Request, score_id: str) -> Answer:
    """``GET v2/scores/{id}``."""
    row = _newest(project, score_id)
    if row is None:
        raise not_found("Score not found")
    return Answer(200, v2_of(row))


def v1_of(row: Score) -> dict[str, Any]:
    """One score as v1 gives it: a number in ``value``, a text in ``stringValue``; TEXT has no ``value``."""
    said: dict[str, Any] = {
        "id": row.id,
        "projectId": "lab-project",
        "environment": row.environment,
        "name": row["name"],
        "value": row["value"],
        "source": row["source"],
        "authorUserId": None,
        "comment": row["comment"],
        "metadata": row.metadata,
        "configId": row["configId"],
        "queueId": row["queueId"],
        "executionTraceId": None,
        "createdAt": row.created_at,
        "updatedAt": row.updated_at,
        "timestamp": row.timestamp,
        "traceId": row["traceId"],
        "observationId": row["observationId"],
        "stringValue": None,
        "dataType": row.data_type,
    }
    if row.data_type == "BOOLEAN":
        said["stringValue"] = "True" if row["value"] else "False"
    elif row.data_type != "NUMERIC":
        said["value"], said["stringValue"] = row.fields.get("category", 0), row["value"]
    if row.data_type == "TEXT":
        del said["value"]
    return said


def v2_of(row: Score) -> dict[str, Any]:
    return v1_of(row) | {"sessionId": row["sessionId"], "datasetRunId": row["datasetRunId"]}


_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
}


def _listed(project: Project, request: Request) -> list[Score]:
    """The rows of a v1 or v2 list: those on traces that do not exist are hidden."""
    paging.number(request, "limit", 50, most=100)
    rows = [row for row in project.scores.newest() if not row["traceId"] or project.trace(row["traceId"])]
    for name, of in {"name": LISTED["name"], "dataType": LISTED["dataType"], "source": LISTED["source"],
                     "configId": LISTED["configId"], "queueId": LISTED["queueId"]}.items():  # fmt: skip
        wanted = request.one(name)
        rows = [row for row in rows if wanted is None or of(row) == wanted]
    if request.one("scoreIds"):
        rows = [row for row in rows if row.id in (request.one("scoreIds") or "").split(",")]
    if request.query.get("environment"):
        rows = [row for row in rows if row.environment in request.query["environment"]]
    rows = _by_trace(project, request, rows)
    compare, value = _COMPARE.get(request.one("operator") or ""), request.one("value")
    if compare and value:
        rows = [row for row in rows if row.data_type == "NUMERIC" and compare(row["value"], float(value))]
    return in_window(request, rows)


def _by_trace(project: Project, request: Request, rows: list[Score]) -> list[Score]:
    user, tags = request.one("userId"), request.query.get("traceTags", [])
    if user is None and not tags:
        return rows
    wanted = {tag for group in tags for tag in group.split(",")}
    found = []
    for row in rows:
        trace = project.trace(row["traceId"]) if row["traceId"] else None
        if trace and user in (None, trace.user_id) and wanted <= set(trace.tags):
            found.append(row)
    return found


def _with_trace(project: Project, row: Score, said: dict[str, Any], also: str) -> dict[str, Any]:
    trace = project.trace(row["traceId"]) if row["traceId"] else None
    if trace is None:
        return said | {"trace": None}
    of = {"userId": trace.user_id, "tags": trace.tags, "environment": trace.environment}
    if also == "sessionId":
        of["sessionId"] = trace.session_id
    return said | {"trace": of}


def _newest(project: Project, score_id: str) -> Score | None:
    rows = project.scores.with_id(score_id)
    return max(rows, key=lambda row: row.timestamp) if rows else None
