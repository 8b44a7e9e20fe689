"""``GET observations``: by page."""

from collections.abc import Callable
from typing import Any

from tests.fake_langfuse import paging, prices, zod
from tests.fake_langfuse.observation_reads import first_token, latency
from tests.fake_langfuse.observations import Observation
from tests.fake_langfuse.project import Project
from tests.fake_langfuse.spans import TYPES, decoded
from tests.fake_langfuse.wire import Answer, Request, not_found

_EQUALS = {
    "name": "name",
    "type": "type",
    "level": "level",
    "version": "version",
    "parentObservationId": "parent_id",
}


def kept(project: Project, request: Request, make: Callable[[Project, Request], list[Any]]) -> list[Any]:
    """The rows that ``make`` finds, kept for the next page of the same list."""
    pages = ("page", "limit", "fields")
    asked = {name: values for name, values in request.query.items() if name not in pages}
    key = (request.path, asked, project.version)
    if project.listed[0] != key:
        project.listed = (key, make(project, request))
    return project.listed[1]


def observations(project: Project, request: Request) -> Answer:
    """``GET observations``: newest first."""
    kind = request.one("type")
    if kind is not None and kind not in TYPES:
        raise zod.refused([zod.not_one_of(list(TYPES), ["type"])])
    paging.number(request, "limit", 50, most=100)
    rows = kept(project, request, _observations)
    page, meta = paging.page_of(request, rows)
    return Answer(200, {"data": [as_v1(one) for one in page], "meta": meta})


def observation(project: Project, request: Request, span_id: str) -> Answer:
    """``GET observations/{id}``."""
    found = next((one for one in project.v1 if one.id == span_id), None)
    if found is None:
        raise not_found(f"Observation with id {span_id} not found")
    return Answer(200, as_v1(found, alone=True))


def as_v1(one: Observation, *, alone: bool = False, unpriced: int | None = None) -> dict[str, Any]:
    """One observation as v1 gives it; ``alone`` with its pricing tier, ``unpriced`` for no price."""
    tier = prices.tier(one) if alone else (None, None)
    asked, answered = prices.PRICES.get(one.model, (unpriced, unpriced))
    usage, cost = one.usage, one.cost
    tokens = {key: usage.get(key, 0) for key in ("input", "output", "total")}
    return {
        "id": one.id,
        "traceId": one.trace_id,
        "startTime": one.start,
        "endTime": one.end,
        "projectId": "lab-project",
        "parentObservationId": one.parent_id,
        "type": one.type,
        "environment": one.environment,
        "name": one.name,
        "level": one.level,
        "statusMessage": one.status_message or None,
        "version": one.version or None,
        "createdAt": one.created_at,
        "updatedAt": one.updated_at,
        "input": decoded(one.input),
        "output": decoded(one.output),
        "metadata": one.metadata,
        "model": one.model or None,
        "modelParameters": one.model_parameters or None,
        "completionStartTime": one.completion_start,
        "promptId": None,
        "promptName": one.prompt_name or None,
        "promptVersion": one.prompt_version,
        "latency": latency(one),
        "timeToFirstToken": first_token(one),
        "usageDetails": usage,
        "costDetails": cost,
        "usagePricingTierId": tier[0],
        "usagePricingTierName": tier[1],
        "modelId": prices.model_id(one),
        "inputPrice": asked,
        "outputPrice": answered,
        "totalPrice": unpriced,
        "calculatedInputCost": cost.get("input"),
        "calculatedOutputCost": cost.get("output"),
        "calculatedTotalCost": cost.get("total", 0),
        "unit": "TOKENS",
        "promptTokens": tokens["input"],
        "completionTokens": tokens["output"],
        "totalTokens": tokens["total"],
        "usage": {"unit": "TOKENS", **tokens},
    }


def asked(request: Request, parameters: dict[str, str]) -> dict[str, str | None]:
    """What each attribute has to be."""
    return {of: request.one(name) for name, of in parameters.items() if request.one(name) is not None}


def _observations(project: Project, request: Request) -> list[Observation]:
    start, end = paging.moment(request, "fromStartTime"), paging.moment(request, "toStartTime")
    trace_id = request.one("traceId")
    rows = project.v1.of_trace(trace_id) if trace_id else list(project.v1.newest(None, None))
    wanted = asked(request, _EQUALS)
    environments, user = request.query.get("environment"), request.one("userId")
    return [
        one
        for one in rows
        if all(getattr(one, attribute) == value for attribute, value in wanted.items())
        and (not environments or one.environment in environments)
        and (user is None or _user(project, one) == user)
        and (not start or one.start >= start)
        and (not end or one.start < end)
    ]


def _user(project: Project, one: Observation) -> str | None:
    found = project.trace(one.trace_id)
    return found.user_id if found else None
