"""Datasets and their items."""

import json
from typing import Any

from tests.fake_langfuse import paging, zod
from tests.fake_langfuse.project import Project
from tests.fake_langfuse.wire import Answer, Request, not_found, refuse

Row = dict[str, Any]


def create(project: Project, request: Request) -> Answer:
    """``POST v2/datasets``: by name, so that a second one updates the first."""
    return Answer(200, _upsert(project, request))


def create_v1(project: Project, request: Request) -> Answer:
    """``POST datasets``."""
    return Answer(200, _upsert(project, request) | {"items": [], "runs": []})


def listing(project: Project, request: Request) -> Answer:
    """``GET v2/datasets``: newest first."""
    page, meta = paging.page_of(request, list(reversed(project.datasets.values())))
    return Answer(200, {"data": page, "meta": meta})


def one(project: Project, request: Request, name: str) -> Answer:
    """``GET v2/datasets/{name}``."""
    return Answer(200, named(project, name))


def one_v1(project: Project, request: Request, name: str) -> Answer:
    """``GET datasets/{name}``: with its items and the names of its runs."""
    dataset = named(project, name)
    runs = [run["name"] for run in project.runs.values() if run["datasetId"] == dataset["id"]]
    return Answer(200, dataset | {"items": _active(project, dataset["id"]), "runs": runs})


def named(project: Project, name: str) -> Row:
    """The dataset of that name, or 404."""
    if name not in project.datasets:
        raise not_found("Dataset not found")
    return project.datasets[name]


def create_item(project: Project, request: Request) -> Answer:
    """``POST dataset-items``: by id; what is left out stays, and ``createdAt`` starts anew."""
    body = zod.needs_object(request.json)
    zod.check(zod.text_issues(body, "datasetName", required=True))
    name = body["datasetName"]
    if name not in project.datasets:
        raise not_found(f"Dataset {name} not found for project {project.id}")
    dataset = project.datasets[name]
    item_id = body.get("id") or project.new_id()
    before = project.items.pop(item_id, None)
    if before and before["datasetId"] != dataset["id"]:
        project.items[item_id] = before
        raise _taken(item_id, before["datasetId"])
    item = project.items[item_id] = _item(project, dataset, item_id, body, before)
    return Answer(200, item)


def items(project: Project, request: Request) -> Answer:
    """``GET dataset-items``: archived ones are left out."""
    name, source = request.one("datasetName"), request.one("sourceTraceId")
    rows = _active(project, named(project, name)["id"] if name is not None else None)
    rows = [row for row in rows if source is None or row["sourceTraceId"] == source]
    page, meta = paging.page_of(request, rows)
    return Answer(200, {"data": page, "meta": meta})


def item(project: Project, request: Request, item_id: str) -> Answer:
    """``GET dataset-items/{id}``."""
    if item_id not in project.items:
        raise not_found("Dataset item not found")
    return Answer(200, project.items[item_id])


def delete_item(project: Project, request: Request, item_id: str) -> Answer:
    """``DELETE dataset-items/{id}``."""
    if project.items.pop(item_id, None) is None:
        raise not_found("Dataset item not found")
    return Answer(200, {"message": "Dataset item successfully deleted"})


def _active(project: Project, dataset_id: str | None) -> list[Row]:
    rows = [row for row in project.items.values() if dataset_id in (None, row["datasetId"])]
    return [row for row in reversed(rows) if row["status"] == "ACTIVE"]


def _upsert(project: Project, request: Request) -> Row:
    body = zod.needs_object(request.json)
    zod.check(zod.text_issues(body, "name", required=True))
    name, now = body["name"], project.stamp()
    bad = _name_issues(name)
    if bad:
        raise refuse(400, f"Dataset name not valid. {json.dumps(bad, indent=2)}", "InvalidRequestError")
    row = project.datasets.setdefault(
        name,
        {
            "id": project.new_id(),
            "projectId": project.id,
            "name": name,
            "description": None,
            "metadata": None,
            "inputSchema": None,
            "expectedOutputSchema": None,
            "createdAt": now,
            "updatedAt": now,
        },
    )
    fields = ("description", "metadata", "inputSchema", "expectedOutputSchema")
    row |= {field: body[field] for field in fields if body.get(field) is not None} | {"updatedAt": now}
    return dict(row)


def _name_issues(name: str) -> list[zod.Issue]:
    found = [zod.too_small("string", 1, []) | {"message": "Text cannot be empty"}] if not name else []
    for place, (end, pattern) in {0: ("start", "/^[^/]/"), -1: ("end", "/^.*[^/]$/")}.items():
        if not name or name[place] == "/":
            said = {"origin": "string", "code": "invalid_format", "format": "regex", "pattern": pattern}
            found.append(said | {"path": [], "message": f"Name cannot {end} with a slash"})
    return found


def _item(project: Project, dataset: Row, item_id: str, body: Row, before: Row | None) -> Row:
    now = project.stamp()
    row = before or {
        "id": item_id,
        "datasetId": dataset["id"],
        "status": "ACTIVE",
        "sourceTraceId": None,
        "sourceObservationId": None,
        "input": None,
        "expectedOutput": None,
        "metadata": None,
        "datasetName": dataset["name"],
        "mediaReferences": [],
    }
    plain = ("status", "sourceTraceId", "sourceObservationId")
    parsed = ("input", "expectedOutput", "metadata")
    row |= {field: body[field] for field in plain if body.get(field) is not None}
    row |= {field: _parsed(body[field]) for field in parsed if body.get(field) is not None}
    return row | {"createdAt": now, "updatedAt": now}


def _parsed(value: Any) -> Any:
    """A text that looks like JSON comes back as what it says: "2" as the number 2."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _taken(item_id: str, dataset_id: str) -> Exception:
    message = (
        f"Dataset item id {item_id} already exists in another dataset (id {dataset_id}) in this project; "
        f"item ids are unique per project across datasets. Use a different id or target dataset {dataset_id}."
    )
    return refuse(409, message, "LangfuseConflictError")
