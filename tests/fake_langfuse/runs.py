"""Dataset runs of the 3.x generation. An events-only server takes their items, and keeps nothing."""

import hashlib
from typing import Any

from tests.fake_langfuse import datasets, paging, zod
from tests.fake_langfuse.project import Project
from tests.fake_langfuse.wire import Answer, Request, not_found

Row = dict[str, Any]


def create_item(project: Project, request: Request) -> Answer:
    """``POST dataset-run-items``: makes the run where it is new; unknown traces are taken."""
    body = zod.needs_object(request.json)
    zod.check(
        [issue for key in ("runName", "datasetItemId") for issue in zod.text_issues(body, key, required=True)]
    )
    if not body.get("traceId") and not body.get("observationId"):
        raise zod.refused(
            [zod.custom(["observationId", "traceId"], "observationId or traceId must be provided")]
        )
    item = project.items.get(body["datasetItemId"])
    if item is None:
        raise not_found("Dataset item not found")
    if project.mode.events_only:
        run_id = hashlib.sha256(f"{project.id}|{item['datasetId']}|{body['runName']}".encode()).hexdigest()[
            :16
        ]
        return Answer(200, _row(project, body, run_id))
    run = _run(project, item, body)
    row = _row(project, body, run["id"])
    project.delayed.add(project.clock.now() + project.ingestion_delay, lambda: _show(project, row))
    return Answer(200, row)


def listing(project: Project, request: Request, name: str) -> Answer:
    """``GET datasets/{name}/runs``."""
    dataset = datasets.named(project, name)
    rows = [run for run in reversed(project.runs.values()) if run["datasetId"] == dataset["id"]]
    page, meta = paging.page_of(request, rows)
    return Answer(200, {"data": page, "meta": meta})


def one(project: Project, request: Request, name: str, run_name: str) -> Answer:
    """``GET datasets/{name}/runs/{run}``: with its items."""
    run = _named(project, name, run_name)
    rows = [row for row in project.run_items.values() if row["datasetRunId"] == run["id"]]
    return Answer(200, run | {"datasetRunItems": rows})


def items(project: Project, request: Request) -> Answer:
    """``GET dataset-run-items`` of one dataset and run."""
    for key in ("datasetId", "runName"):
        if request.one(key) is None:
            raise zod.refused([zod.wrong_type("string", ..., [key])])
    run = project.runs.get((request.one("datasetId") or "", request.one("runName") or ""))
    rows = [row for row in project.run_items.values() if run and row["datasetRunId"] == run["id"]]
    page, meta = paging.page_of(request, rows)
    return Answer(200, {"data": page, "meta": meta})


def delete(project: Project, request: Request, name: str, run_name: str) -> Answer:
    """``DELETE datasets/{name}/runs/{run}``."""
    run = _named(project, name, run_name)
    del project.runs[run["datasetId"], run["name"]]
    project.run_items = {
        key: row for key, row in project.run_items.items() if row["datasetRunId"] != run["id"]
    }
    return Answer(200, {"message": "Dataset run successfully deleted"})


def _named(project: Project, name: str, run_name: str) -> Row:
    dataset = project.datasets.get(name, {})
    run = project.runs.get((dataset.get("id", ""), run_name))
    if run is None:
        raise not_found("Dataset run not found")
    return run


def _run(project: Project, item: Row, body: Row) -> Row:
    now = project.stamp()
    new = {
        "id": project.new_id(),
        "name": body["runName"],
        "description": body.get("runDescription"),
        "metadata": body.get("metadata") or {},
        "datasetId": item["datasetId"],
        "createdAt": now,
        "updatedAt": now,
        "datasetName": item["datasetName"],
    }
    return project.runs.setdefault((item["datasetId"], body["runName"]), new)


def _row(project: Project, body: Row, run_id: str) -> Row:
    now = project.stamp()
    return {
        "id": project.new_id(),
        "datasetRunId": run_id,
        "datasetRunName": body["runName"],
        "datasetItemId": body["datasetItemId"],
        "traceId": body.get("traceId"),
        "observationId": body.get("observationId"),
        "createdAt": now,
        "updatedAt": now,
    }


def _show(project: Project, row: Row) -> None:
    """A second item of one run and dataset item replaces the first."""
    project.run_items[row["datasetRunId"], row["datasetItemId"]] = row
