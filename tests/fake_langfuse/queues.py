"""Annotation queues, their items, and comments: where people look at what was scored."""

from typing import Any

from tests.fake_langfuse import paging, zod
from tests.fake_langfuse.project import Project
from tests.fake_langfuse.wire import Answer, Request, not_found

Row = dict[str, Any]
_OBJECTS = ("TRACE", "OBSERVATION", "SESSION")


def create(project: Project, request: Request) -> Answer:
    """``POST annotation-queues``."""
    body = zod.needs_object(request.json)
    zod.check(zod.text_issues(body, "name", required=True, least=1))
    configs = body.get("scoreConfigIds", ...)
    if not isinstance(configs, list):
        raise zod.refused([zod.wrong_type("array", configs, ["scoreConfigIds"])])
    now, queue_id = project.stamp(), project.new_id()
    row = {
        "id": queue_id,
        "name": body["name"],
        "description": body.get("description"),
        "scoreConfigIds": configs,
        "createdAt": now,
        "updatedAt": now,
    }
    project.queues[queue_id] = row
    return Answer(200, row)


def listing(project: Project, request: Request) -> Answer:
    """``GET annotation-queues``."""
    return _page(request, list(reversed(project.queues.values())))


def one(project: Project, request: Request, queue_id: str) -> Answer:
    """``GET annotation-queues/{id}``."""
    return Answer(200, _queue(project, queue_id))


def create_item(project: Project, request: Request, queue_id: str) -> Answer:
    """``POST annotation-queues/{id}/items``: nothing keeps the same object from being queued twice."""
    _queue(project, queue_id)
    body = zod.needs_object(request.json)
    zod.check(zod.text_issues(body, "objectId", required=True))
    if body.get("objectType") not in _OBJECTS:
        raise zod.refused([zod.not_one_of(list(_OBJECTS), ["objectType"])])
    now, item_id = project.stamp(), project.new_id()
    row = {
        "id": item_id,
        "queueId": queue_id,
        "objectId": body["objectId"],
        "objectType": body["objectType"],
        "status": body.get("status") or "PENDING",
        "completedAt": None,
        "createdAt": now,
        "updatedAt": now,
    }
    project.queue_items[item_id] = row
    return Answer(200, row)


def items(project: Project, request: Request, queue_id: str) -> Answer:
    """``GET annotation-queues/{id}/items``, by ``status`` if asked."""
    _queue(project, queue_id)
    rows = [row for row in reversed(project.queue_items.values()) if row["queueId"] == queue_id]
    return _page(request, [row for row in rows if request.one("status") in (None, row["status"])])


def item(project: Project, request: Request, queue_id: str, item_id: str) -> Answer:
    """``GET annotation-queues/{id}/items/{item}``."""
    return Answer(200, _item(project, queue_id, item_id))


def change_item(project: Project, request: Request, queue_id: str, item_id: str) -> Answer:
    """``PATCH annotation-queues/{id}/items/{item}``: its status."""
    row, body = _item(project, queue_id, item_id), zod.needs_object(request.json)
    if body.get("status") not in (None, "PENDING", "COMPLETED"):
        raise zod.refused([zod.not_one_of(["PENDING", "COMPLETED"], ["status"])])
    now = project.stamp()
    row |= {"status": body.get("status") or row["status"], "updatedAt": now}
    row["completedAt"] = now if row["status"] == "COMPLETED" else None
    return Answer(200, row)


def delete_item(project: Project, request: Request, queue_id: str, item_id: str) -> Answer:
    """``DELETE annotation-queues/{id}/items/{item}``."""
    _item(project, queue_id, item_id)
    del project.queue_items[item_id]
    return Answer(200, {"success": True, "message": "Annotation queue item deleted successfully"})


def comment(project: Project, request: Request) -> Answer:
    """``POST comments``: on a trace or observation that exists."""
    body = zod.needs_object(request.json)
    zod.check(
        [issue for key in ("objectId", "content") for issue in zod.text_issues(body, key, required=True)]
    )
    kind, object_id = body.get("objectType"), body["objectId"]
    if not _exists(project, kind, object_id):
        raise not_found(f"Reference object, {kind}: {object_id} not found. Skipping comment creation.")
    now, comment_id = project.stamp(), project.new_id()
    project.comments[comment_id] = {
        "id": comment_id,
        "projectId": project.id,
        "createdAt": now,
        "updatedAt": now,
        "objectType": kind,
        "objectId": object_id,
        "content": body["content"],
        "authorUserId": body.get("authorUserId"),
    }
    return Answer(200, {"id": comment_id})


def comments(project: Project, request: Request) -> Answer:
    """``GET comments``."""
    wanted = {key: request.one(key) for key in ("objectType", "objectId") if request.one(key)}
    rows = [row for row in reversed(project.comments.values()) if wanted.items() <= row.items()]
    return _page(request, rows)


def one_comment(project: Project, request: Request, comment_id: str) -> Answer:
    """``GET comments/{id}``."""
    if comment_id not in project.comments:
        raise not_found("Comment not found within authorized project")
    return Answer(200, project.comments[comment_id])


def _page(request: Request, rows: list[Row]) -> Answer:
    page, meta = paging.page_of(request, rows)
    return Answer(200, {"data": page, "meta": meta})


def _queue(project: Project, queue_id: str) -> Row:
    if queue_id not in project.queues:
        raise not_found("Annotation queue not found")
    return project.queues[queue_id]


def _item(project: Project, queue_id: str, item_id: str) -> Row:
    _queue(project, queue_id)
    row = project.queue_items.get(item_id)
    if row is None or row["queueId"] != queue_id:
        raise not_found("Annotation queue item not found")
    return row


def _exists(project: Project, kind: Any, object_id: str) -> bool:
    if kind == "TRACE":
        return project.trace(object_id) is not None or bool(project.v2.of_trace(object_id))
    return any(one.id == object_id for one in (project.v2 if project.mode.v2_reads else project.v1))
