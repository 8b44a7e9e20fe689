"""``GET v2/observations``: newest first, by keyset cursor, with filters."""

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from tests.fake_langfuse import filters, paging, prices, zod
from tests.fake_langfuse.observations import Key, Observation
from tests.fake_langfuse.project import Project
from tests.fake_langfuse.spans import decoded
from tests.fake_langfuse.wire import Answer, Request

_CUT = 200  # characters of a metadata value, unless expandMetadata names its key
_EQUALS = {"name": "name", "userId": "user_id", "sessionId": "session_id", "type": "type", "level": "level",
           "version": "version"}  # fmt: skip


def listing(project: Project, request: Request) -> Answer:
    """One page; ``meta.cursor`` where there are more."""
    if request.one("parseIoAsJson") == "true":
        message = (
            "parseIoAsJson=true is no longer supported on the v2 observations endpoint. Input/output fields "
            "are always returned as raw strings. Remove the parseIoAsJson parameter or set it to false."
        )
        raise zod.refused([zod.custom(["parseIoAsJson"], message)])
    limit = paging.number(request, "limit", 50, least=0, most=1000)
    after = paging.read_cursor(request.one("cursor"), "lastStartTimeTo", "lastTraceId", "lastId")
    rows = _matching(project, request, after)
    page: list[Observation] = []
    meta: dict[str, Any] = {}
    for one in rows if limit else ():
        if len(page) == limit:
            start, trace_id, last = page[-1].key
            meta["cursor"] = paging.cursor(lastStartTimeTo=start, lastTraceId=trace_id, lastId=last)
            break
        page.append(one)
    shown = _doubled(page, project.duplicate_every)
    groups, expand = _groups(request), (request.one("expandMetadata") or "").split(",")
    return Answer(200, {"data": [as_v2(one, groups, expand) for one in shown], "meta": meta})


def as_v2(one: Observation, groups: set[str], expand: list[str]) -> dict[str, Any]:
    """One observation with the field ``groups`` asked for; ``core`` is always there."""
    said: dict[str, Any] = {
        "id": one.id,
        "traceId": one.trace_id,
        "startTime": one.start,
        "endTime": one.end,
        "projectId": "lab-project",
        "parentObservationId": one.parent_id,
        "type": one.type,
    }
    for name, fields in _GROUPS.items():
        if name in groups:
            said |= fields(one)
    if "metadata" in groups:
        said["metadata"] = _metadata(one, expand)
    priced = bool(one.model) and "model" in groups
    prices = (
        {"inputPrice": "1.5e-7", "outputPrice": "6e-7"}
        if priced
        else {"inputPrice": None, "outputPrice": None}
    )
    said |= {"latency": latency(one), "timeToFirstToken": first_token(one)}
    return said | {"modelId": f"model-{one.model}" if priced else None, **prices, "totalPrice": None}


def _basic(one: Observation) -> dict[str, Any]:
    return {
        "name": one.name,
        "level": one.level,
        "statusMessage": one.status_message,
        "version": one.version,
        "environment": one.environment,
        "userId": one.user_id,
        "sessionId": one.session_id,
        "isRootObservation": one.is_root,
        "bookmarked": False,
        "public": False,
    }


def _usage(one: Observation) -> dict[str, Any]:
    usage, cost = one.usage, one.cost
    return {
        "usageDetails": usage,
        "inputUsage": usage.get("input", 0),
        "outputUsage": usage.get("output", 0),
        "totalUsage": usage.get("total", 0),
        "costDetails": cost,
        "inputCost": cost.get("input"),
        "outputCost": cost.get("output"),
        "totalCost": cost.get("total", 0),
        "usagePricingTierId": prices.tier(one)[0],
        "usagePricingTierName": prices.tier(one)[1],
    }


_GROUPS: dict[str, Callable[[Observation], dict[str, Any]]] = {
    "basic": _basic,
    "time": lambda one: {
        "completionStartTime": one.completion_start,
        "createdAt": one.created_at,
        "updatedAt": one.updated_at,
    },
    "io": lambda one: {"input": one.input, "output": one.output},
    "model": lambda one: {
        "model": one.model,
        "internalModelId": prices.model_id(one) or "",
        "modelParameters": one.model_parameters,
    },
    "usage": _usage,
    "prompt": lambda one: {
        "promptId": "",
        "promptName": one.prompt_name,
        "promptVersion": one.prompt_version,
    },
    "trace_context": lambda one: {"traceName": one.trace_name, "release": one.release, "tags": one.tags},
}


def latency(one: Observation) -> float | None:
    """Seconds from start to end; None for an observation that has not ended."""
    return _between(one.start, one.end) if one.end else None


def first_token(one: Observation) -> float | None:
    return _between(one.start, one.completion_start) if one.completion_start else None


def _between(start: str, end: str) -> float:
    return round((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds(), 3)


def _metadata(one: Observation, expand: list[str]) -> dict[str, Any]:
    """Flat, with the trace's metadata, long values cut as the server cuts them."""
    found = {}
    for name, value in one.flat_metadata.items():
        text = value if isinstance(value, str) else json.dumps(value)
        cut = len(text) > _CUT and name not in expand
        found[name] = decoded(text[:_CUT]) if cut else value
    return found


def _groups(request: Request) -> set[str]:
    asked = request.one("fields")
    return set(asked.split(",")) if asked else {"core", "basic"}


def _doubled(page: list[Observation], every: int) -> list[Observation]:
    """``page`` with every so many rows twice, as a server that has not merged its parts yet gives them."""
    if not every:
        return page
    return [one for place, row in enumerate(page, 1) for one in ([row, row] if place % every == 0 else [row])]


def _matching(project: Project, request: Request, after: dict[str, Any] | None) -> Iterator[Observation]:
    start, end = paging.moment(request, "fromStartTime"), paging.moment(request, "toStartTime")
    wanted = filters.read(request.one("filter"))
    before: Key | None = (after["lastStartTimeTo"], after["lastTraceId"], after["lastId"]) if after else None
    trace_id = request.one("traceId")
    if wanted:  # takes precedence over the single parameters
        start, window_end = filters.window(wanted)
        rows = project.v2.newest(before, window_end)
    elif trace_id:
        of_trace = project.v2.of_trace(trace_id)
        rows = (one for one in of_trace if (not before or one.key < before) and (not end or one.start < end))
    else:
        rows = project.v2.newest(before, end)
    tests = [filters.test(one, filters.COLUMNS) for one in wanted] if wanted else _tests(request)
    for one in rows:
        if start and one.start < start:
            return
        if all(test(one) for test in tests):
            yield one


def _tests(request: Request) -> list[Callable[[Observation], bool]]:
    tests: list[Callable[[Observation], bool]] = []
    for parameter, attribute in _EQUALS.items():
        value = request.one(parameter)
        if value is not None:
            tests.append(_equal(attribute, value))
    environments = request.query.get("environment")
    if environments:
        tests.append(lambda one: one.environment in environments)
    parent, root = request.one("parentObservationId"), request.one("isRootObservation")
    if parent is not None:
        tests.append(lambda one: (one.parent_id or "") == parent)
    if root is not None:
        tests.append(lambda one: one.is_root == (root == "true"))
    return tests


def _equal(attribute: str, value: str) -> Callable[[Observation], bool]:
    return lambda one: bool(getattr(one, attribute) == value)
