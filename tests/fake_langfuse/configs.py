"""Score configs: names are not unique, and nothing is checked of scores before their 200."""

from typing import Any

from tests.fake_langfuse import paging, zod
from tests.fake_langfuse.project import Project
from tests.fake_langfuse.wire import Answer, Request, not_found
from tests.fake_langfuse.zod import Issue

_TYPES = ("NUMERIC", "CATEGORICAL", "BOOLEAN", "TEXT")
_YES_NO = [{"label": "True", "value": 1}, {"label": "False", "value": 0}]


def create(project: Project, request: Request) -> Answer:
    """``POST score-configs``."""
    body = zod.needs_object(request.json)
    zod.check(_issues(body))
    now, config_id = project.stamp(), project.new_id()
    row = {
        "id": config_id,
        "name": body["name"],
        "isArchived": False,
        "description": body.get("description"),
        "createdAt": now,
        "updatedAt": now,
        "projectId": project.id,
        "maxValue": body.get("maxValue"),
        "minValue": body.get("minValue"),
        "dataType": body["dataType"],
        "categories": _YES_NO if body["dataType"] == "BOOLEAN" else body.get("categories"),
    }
    project.configs[config_id] = row
    return Answer(200, row)


def listing(project: Project, request: Request) -> Answer:
    """``GET score-configs``: newest first."""
    page, meta = paging.page_of(request, list(reversed(project.configs.values())))
    return Answer(200, {"data": page, "meta": meta})


def one(project: Project, request: Request, config_id: str) -> Answer:
    """``GET score-configs/{id}``."""
    return Answer(200, _known(project, config_id))


def change(project: Project, request: Request, config_id: str) -> Answer:
    """``PATCH score-configs/{id}``."""
    row, body = _known(project, config_id), zod.needs_object(request.json)
    fields = ("name", "description", "minValue", "maxValue", "categories", "isArchived")
    row |= {field: body[field] for field in fields if field in body} | {"updatedAt": project.stamp()}
    return Answer(200, row)


def _known(project: Project, config_id: str) -> dict[str, Any]:
    if config_id not in project.configs:
        raise not_found("Score config not found within authorized project")
    return project.configs[config_id]


def _issues(body: dict[str, Any]) -> list[Issue]:
    kind, categories = body.get("dataType"), body.get("categories")
    if kind not in _TYPES:
        return [zod.no_variant("dataType", ["dataType"])]
    found = zod.text_issues(body, "name", required=True, least=1)
    if not found and len(body["name"]) > 35:
        return [zod.too_big("string", 35, ["name"])]
    if kind == "CATEGORICAL":
        return found + _category_issues(categories)
    if categories is not None:
        return [*found, zod.wrong_type("undefined", categories, ["categories"])]
    low, high = body.get("minValue"), body.get("maxValue")
    if low is not None and high is not None and high <= low:
        return [*found, zod.custom([], "Maximum value must be greater than Minimum value")]
    return found


def _category_issues(categories: Any) -> list[Issue]:
    if not isinstance(categories, list) or not categories:
        missing = ... if categories is None else categories
        inner = [[zod.wrong_type("array", missing, [])]]
        return [
            {"code": "invalid_union", "errors": inner, "path": ["categories"], "message": "Invalid input"}
        ]
    for name in ("label", "value"):
        seen = [one.get(name) for one in categories]
        twice = next((value for value in seen if seen.count(value) > 1), None)
        if twice is not None:
            message = f"Duplicate category {name}: {twice}, category {name}s must be unique"
            return [zod.custom(["categories"], message)]
    return []
