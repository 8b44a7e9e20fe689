"""``GET traces`` and ``GET sessions``: by page."""

from collections.abc import Callable
from typing import Any

from tests.fake_langfuse import filters, paging, zod
from tests.fake_langfuse.observation_lists import as_v1, asked, kept
from tests.fake_langfuse.observation_reads import latency
from tests.fake_langfuse.observations import Trace
from tests.fake_langfuse.project import Project
from tests.fake_langfuse.score_lists import v1_of
from tests.fake_langfuse.spans import decoded
from tests.fake_langfuse.wire import Answer, Request, not_found, refuse

_GROUPS = {"core", "io", "scores", "observations", "metrics"}
_ORDERS: dict[str, Callable[[Trace], Any]] = {
    "timestamp": lambda trace: trace.timestamp,
    "name": lambda trace: trace.name or "",
    "id": lambda trace: trace.id,
    "userId": lambda trace: trace.user_id or "",
    "sessionId": lambda trace: trace.session_id or "",
}
_TRACE_EQUALS = {
    "name": "name",
    "userId": "user_id",
    "sessionId": "session_id",
    "version": "version",
    "release": "release",
}
_TRACE_COLUMNS: dict[str, Callable[[Trace], Any]] = {
    "id": lambda trace: trace.id,
    "name": lambda trace: trace.name,
    "timestamp": lambda trace: trace.timestamp,
    "environment": lambda trace: trace.environment,
    "userId": lambda trace: trace.user_id,
    "sessionId": lambda trace: trace.session_id,
    "version": lambda trace: trace.version,
    "release": lambda trace: trace.release,
    "tags": lambda trace: trace.tags,
    "metadata": lambda trace: trace.metadata,
}


def traces(project: Project, request: Request) -> Answer:
    """``GET traces``: ``tags`` must all be there, one ``environment`` is enough."""
    paging.number(request, "limit", 50, most=100)
    rows = kept(project, request, _ordered)
    page, meta = paging.page_of(request, rows)
    groups = _groups(request)
    return Answer(200, {"data": [_listed(project, one, groups) for one in page], "meta": meta})


def _ordered(project: Project, request: Request) -> list[Trace]:
    order, down = _order(request)
    rows = _matching(project, request)
    return sorted(rows, key=lambda trace: (_ORDERS[order](trace), trace.id), reverse=down)


def trace(project: Project, request: Request, trace_id: str) -> Answer:
    """``GET traces/{id}``: with its observations and scores."""
    found = project.trace(trace_id)
    if found is None:
        raise not_found(f"Trace {trace_id} not found within authorized project")
    groups = _groups(request)
    said = _listed(project, found, groups)
    if "observations" in groups:
        said["observations"] = [as_v1(one, alone=True, unpriced=0) for one in project.v1.of_trace(trace_id)]
    if "scores" in groups:
        said["scores"] = [v1_of(row) for row in project.scores.of_trace(trace_id)]
    return Answer(200, said)


def sessions(project: Project, request: Request) -> Answer:
    """``GET sessions``: newest first."""
    rows = [_session(project, name, of) for name, of in _by_session(project).items()]
    environments, start = request.query.get("environment"), paging.moment(request, "fromTimestamp")
    rows = [row for row in rows if not environments or row["environment"] in environments]
    rows = [row for row in rows if not start or row["createdAt"] >= start]
    page, meta = paging.page_of(request, sorted(rows, key=lambda row: row["createdAt"], reverse=True))
    return Answer(200, {"data": page, "meta": meta})


def session(project: Project, request: Request, session_id: str) -> Answer:
    """``GET sessions/{id}``: with its traces."""
    of = _by_session(project).get(session_id)
    if of is None:
        raise not_found("Session not found within authorized project")
    return Answer(200, _session(project, session_id, of) | {"traces": [_plain(one) for one in of]})


def _plain(trace: Trace) -> dict[str, Any]:
    return {
        "id": trace.id,
        "projectId": "lab-project",
        "name": trace.name,
        "timestamp": trace.timestamp,
        "environment": trace.environment,
        "tags": trace.tags,
        "bookmarked": False,
        "release": trace.release,
        "version": trace.version,
        "userId": trace.user_id,
        "sessionId": trace.session_id,
        "public": trace.public,
        "input": decoded(trace.input),
        "output": decoded(trace.output),
        "metadata": trace.metadata,
        "createdAt": trace.created_at,
        "updatedAt": trace.updated_at,
        "externalId": None,
    }


def _listed(project: Project, trace: Trace, groups: set[str]) -> dict[str, Any]:
    said = _plain(trace)
    if "io" not in groups:
        said |= {"input": None, "output": None, "metadata": {}}
    of = project.v1.of_trace(trace.id)
    rows = project.scores.of_trace(trace.id)
    metrics = "metrics" in groups
    return said | {
        "observations": [one.id for one in of] if "observations" in groups else [],
        "scores": [row.id for row in rows] if "scores" in groups else [],
        "totalCost": sum(one.cost.get("total", 0) for one in of) if metrics else -1,
        "latency": max([latency(one) or 0 for one in of], default=0) if metrics else -1,
        "htmlPath": f"/project/lab-project/traces/{trace.id}",
    }


def _groups(request: Request) -> set[str]:
    """The field groups asked for; all where none of them is known."""
    asked = set((request.one("fields") or "").split(",")) & _GROUPS
    return asked or _GROUPS


def _order(request: Request) -> tuple[str, bool]:
    text = request.one("orderBy")
    if not text:
        return "timestamp", True
    column, _, way = text.partition(".")
    if way.upper() not in ("ASC", "DESC"):
        raise zod.refused([zod.not_one_of(["ASC", "DESC"], ["orderBy", "order"])])
    if column not in _ORDERS:
        raise refuse(400, f"Invalid order by column: {column}", "InvalidRequestError")
    return column, way.upper() == "DESC"


def _matching(project: Project, request: Request) -> list[Trace]:
    start, end = paging.moment(request, "fromTimestamp"), paging.moment(request, "toTimestamp")
    wanted = asked(request, _TRACE_EQUALS)
    tags, environments = set(request.query.get("tags", [])), request.query.get("environment")
    tests = _tests(project, request)
    return [
        one
        for one in project.traces.values()
        if all(getattr(one, attribute) == value for attribute, value in wanted.items())
        and tags <= set(one.tags)
        and (not environments or one.environment in environments)
        and (not start or one.timestamp >= start)
        and (not end or one.timestamp < end)
        and all(test(one) for test in tests)
    ]


def _tests(project: Project, request: Request) -> list[Callable[[Trace], bool]]:
    columns = _TRACE_COLUMNS | {"scores_avg": lambda trace: _means(project, trace)}
    return [filters.test(one, columns) for one in filters.read(request.one("filter"), columns)]


def _means(project: Project, trace: Trace) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for row in project.scores.of_trace(trace.id):
        if row.data_type == "NUMERIC":
            values.setdefault(row["name"], []).append(row["value"])
    return {name: sum(each) / len(each) for name, each in values.items()}


def _by_session(project: Project) -> dict[str, list[Trace]]:
    found: dict[str, list[Trace]] = {}
    for one in sorted(project.traces.values(), key=lambda trace: trace.timestamp, reverse=True):
        if one.session_id:
            found.setdefault(one.session_id, []).append(one)
    return found


def _session(project: Project, session_id: str, of: list[Trace]) -> dict[str, Any]:
    created, environment = min(one.created_at for one in of), of[-1].environment
    return {"id": session_id, "createdAt": created, "projectId": project.id, "environment": environment}
