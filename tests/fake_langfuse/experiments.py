"""Experiments: read off the attributes of spans, with the scores posted to their spans."""

from typing import Any

from tests.fake_langfuse import paging, zod
from tests.fake_langfuse.observations import Observation
from tests.fake_langfuse.project import Project
from tests.fake_langfuse.score_reads import as_v3
from tests.fake_langfuse.scores import Score
from tests.fake_langfuse.spans import decoded
from tests.fake_langfuse.wire import Answer, Request

_ITEM_FIELDS = ["core", "dataset", "io", "metadata", "itemMetadata", "experimentMetadata", "scores"]
_FIELDS = ["core", "metadata", "scores"]


def listing(project: Project, request: Request) -> Answer:
    """``GET experiments``: newest first, each with the number of its items in the window."""
    fields = _fields(request, _FIELDS, [])
    found: dict[str, list[Observation]] = {}
    for item in _items(project, request):
        found.setdefault(_said(item)["id"], []).append(item)
    rows = [_experiment(project, items, _spans(project, items[0]), fields) for items in found.values()]
    rows.sort(key=lambda row: (row["startTime"], row["id"]), reverse=True)
    return _page(request, rows)


def items(project: Project, request: Request) -> Answer:
    """``GET experiment-items``: one row for each call, so that repeats of an item stay apart."""
    fields = _fields(request, _ITEM_FIELDS, ["core", "dataset"])
    return _page(request, [_item(project, one, fields) for one in _items(project, request)])


def _page(request: Request, rows: list[dict[str, Any]]) -> Answer:
    limit = paging.number(request, "limit", 50, most=100)
    after = paging.read_cursor(request.one("cursor"), "lastStartTime", "lastId")
    if after:
        last = (after["lastStartTime"], after["lastId"])
        rows = [row for row in rows if (row["startTime"], row["id"]) < last]
    meta = {}
    if len(rows) > limit:
        end = rows[limit - 1]
        meta["cursor"] = paging.cursor(v=1, lastStartTime=end["startTime"], lastId=end["id"])
    return Answer(200, {"data": rows[:limit], "meta": meta})


def _fields(request: Request, known: list[str], default: list[str]) -> list[str]:
    asked = request.one("fields")
    fields = asked.split(",") if asked else default
    for place, name in enumerate(fields):
        if name not in known:
            raise zod.refused([zod.not_one_of(known, ["fields", place])])
    return fields


def _said(one: Observation) -> dict[str, str]:
    assert one.experiment is not None
    return one.experiment


def _items(project: Project, request: Request) -> list[Observation]:
    """The root observations of the items in the asked window, newest first."""
    start = paging.moment(request, "fromStartTime", required=True) or ""
    rows = []
    for one in project.v2.newest(None, paging.moment(request, "toStartTime")):
        if one.start < start:
            break
        if one.experiment and one.experiment.get("item.root_observation_id") == one.id:
            rows.append(one)
    asked = {
        "experimentId": "id",
        "experimentName": "name",
        "experimentItemId": "item.id",
        "datasetId": "dataset.id",
    }
    for parameter, key in asked.items():
        if request.one(parameter):
            wanted = (request.one(parameter) or "").split(",")
            rows = [one for one in rows if _said(one).get(key) in wanted]
    return sorted(rows, key=lambda one: (one.start, one.id), reverse=True)


def _spans(project: Project, item: Observation) -> list[Observation]:
    """All spans of the experiment of ``item``, its evaluators' among them."""
    return [one for one in project.v2 if one.experiment and one.experiment["id"] == _said(item)["id"]]


def _experiment(
    project: Project, items: list[Observation], spans: list[Observation], fields: list[str]
) -> dict[str, Any]:
    said = _said(items[0])
    row: dict[str, Any] = {
        "id": said["id"],
        "name": said.get("name", ""),
        "description": next((_said(one)["description"] for one in items if "description" in _said(one)), ""),
        "startTime": min(one.start for one in spans),
        "endTime": max(one.end or one.start for one in spans),
        "itemCount": len(items),
        "datasetId": said.get("dataset.id"),
    }
    if "metadata" in fields:
        row["metadata"] = decoded(said.get("metadata")) or {}
    if "scores" in fields:
        row["scores"] = [as_v3(score) for score in project.scores if score["datasetRunId"] == said["id"]]
    return row


def _item(project: Project, one: Observation, fields: list[str]) -> dict[str, Any]:
    said = _said(one)
    row: dict[str, Any] = {
        "id": one.id,
        "traceId": one.trace_id,
        "startTime": one.start,
        "endTime": one.end,
        "level": one.level,
        "environment": one.environment,
        "experimentId": said["id"],
        "experimentName": said.get("name", ""),
        "experimentItemId": said.get("item.id", ""),
    }
    if "dataset" in fields:
        row |= {
            "experimentDatasetId": said.get("dataset.id"),
            "experimentItemVersion": said.get("item.version"),
        }
    if "io" in fields:
        row |= {"input": one.input, "output": one.output, "expectedOutput": said.get("item.expected_output")}
    if "metadata" in fields:
        row["metadata"] = one.trace_metadata | one.metadata
    if "itemMetadata" in fields:
        row["experimentItemMetadata"] = decoded(said.get("item.metadata")) or {}
    if "experimentMetadata" in fields:
        row["experimentMetadata"] = decoded(said.get("metadata")) or {}
        row["experimentDescription"] = said.get("description", "")
    if "scores" in fields:
        limit = paging.MOST_SCORES
        row["scores"] = [as_v3(score) for score in project.scores.of_trace(one.trace_id) if _on(score, one)][
            :limit
        ]
    return row


def _on(score: Score, one: Observation) -> bool:
    """A score of the item's span, or of its whole trace."""
    return score["observationId"] in (None, one.id)
