"""People's part: calls put into an annotation queue, and the labels that come back."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tracehooks.errors import TracehooksError
from tracehooks.exporters.langfuse.client import Client, Reply
from tracehooks.exporters.langfuse.observations import instant
from tracehooks.exporters.langfuse.pages import Pages
from tracehooks.exporters.langfuse.server import Server
from tracehooks.judges.untraced import untraced
from tracehooks.records import TraceRef
from tracehooks.settings import Settings

QUEUES = "/annotation-queues"
CONFIGS = "/score-configs"
LABEL = "toxic"  # the score config of a queue that is made here: true or false
SOURCE = "ANNOTATION"
DESCRIPTION = "Calls that tracehooks scored toxic, or could not judge."
PAGE = 100

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What a person said about a call. ``span_id`` is None where it is about the trace as a whole.

    ``value`` is 0.0 or 1.0 for yes and no, a number, or a text. ``author`` is the person's id in Langfuse.
    """

    id: str
    name: str
    trace_id: str
    span_id: str | None
    value: float | str
    data_type: str
    comment: str
    author: str | None
    queue: str | None
    at: datetime | None


def queue_calls(settings: Settings, refs: Sequence[TraceRef]) -> dict[str, Any] | None:
    """Put the calls into the queue that the settings name; None when they name none.

    Returns how many were ``added``, and how many were ``there`` already. Raises TracehooksError.
    """
    name = settings.langfuse.review_queue
    if name is None or not settings.langfuse.has_keys:
        return None
    with untraced(), closing(Client.from_settings(settings)) as client:
        return {"queue": name, **Review(client).add(name, refs)}


class Review:
    """The annotation queues of one project."""

    def __init__(self, client: Client) -> None:
        self._client, self._pages, self._server = client, Pages(client), Server(client)

    def add(self, name: str, refs: Sequence[TraceRef]) -> dict[str, int]:
        """Put calls into the queue called ``name``, made when there is none. None is put there twice."""
        queue = self.queue_id(name) or self._make(name)
        path = f"{QUEUES}/{queue}/items"
        pages = self._pages.by_number(path, {}, what="queue items")
        there = {str(row.get("objectId")) for page in pages for row in page}
        new = [ref for ref in refs if ref.span_id not in there]
        for ref in new:
            self._done(self._client.post(path, {"objectId": ref.span_id, "objectType": "OBSERVATION"}), name)
        return {"added": len(new), "there": len(refs) - len(new)}

    def queue_id(self, name: str) -> str | None:
        """The id of the queue called ``name``; None when there is none."""
        pages = self._pages.by_number(QUEUES, {}, what="annotation queues")
        return next((str(row["id"]) for page in pages for row in page if row.get("name") == name), None)

    def labels(self, queue: str | None = None) -> Iterator[Label]:
        """What people said, the newest first: in the queue with this id, or anywhere in the project."""
        facts = self._server.facts()
        query: dict[str, Any] = {"source": SOURCE} | ({} if queue is None else {"queueId": queue})
        if facts.kind == "v3":
            listing = self._pages.by_number(facts.scores_path, query, what="labels")
        else:
            query["fields"] = "details,subject,annotation"
            listing = self._pages.by_cursor(facts.scores_path, query, limit=PAGE, what="labels")
        seen: set[str] = set()
        for page in listing:
            for row in page:
                label = _label(row)
                if label is not None and label.id not in seen and queue in (None, label.queue):
                    seen.add(label.id)
                    yield label

    def _make(self, name: str) -> str:
        body = {"name": name, "description": DESCRIPTION, "scoreConfigIds": [self._config_id()]}
        return str(self._done(self._client.post(QUEUES, body), name)["id"])

    def _config_id(self) -> str:
        """The config that the queue's people answer to."""
        for page in self._pages.by_number(CONFIGS, {}, what="score configs"):
            for row in page:
                if (row.get("name"), row.get("dataType"), row.get("isArchived")) == (LABEL, "BOOLEAN", False):
                    return str(row["id"])
        body = {"name": LABEL, "dataType": "BOOLEAN", "description": "Is what the agent said toxic?"}
        return str(self._done(self._client.post(CONFIGS, body), LABEL)["id"])

    def _done(self, reply: Reply, what: str) -> Row:
        said = reply.json()
        if not reply.ok or not isinstance(said, dict):
            raise TracehooksError(f"Langfuse does not take {what} for the review: {reply.words}")
        return said


def _label(row: Row) -> Label | None:
    """A label from a row of either API; None for one that is about no trace, or has no value."""
    subject = row.get("subject")
    if isinstance(subject, Mapping):
        is_span = subject.get("kind") == "observation"
        trace_id = (
            subject.get("traceId")
            if is_span
            else subject.get("id")
            if subject.get("kind") == "trace"
            else None
        )
        span_id = subject.get("id") if is_span else None
    else:
        trace_id, span_id = row.get("traceId"), row.get("observationId")
    value = row.get("stringValue") if row.get("dataType") == "CATEGORICAL" else row.get("value")
    value = row.get("value", row.get("stringValue")) if value is None else value
    if not trace_id or value is None or row.get("source") not in (None, SOURCE):
        return None
    return Label(
        id=str(row["id"]),
        name=str(row["name"]),
        trace_id=str(trace_id),
        span_id=None if not span_id else str(span_id),
        value=float(value) if isinstance(value, bool | int | float) else str(value),
        data_type=str(row.get("dataType") or "NUMERIC"),
        comment=str(row.get("comment") or ""),
        author=row.get("authorUserId"),
        queue=row.get("queueId"),
        at=instant(row.get("updatedAt") or row.get("timestamp")),
    )
