"""All scores of the project, and which write of a score wins.

Measured on 4.16.0: the same id is one score, and a later write merges into it. "Later" goes by the time of
the write's envelope, field by field: an older envelope changes nothing that a newer one set, but fills what
it did not. ``timestamp``, ``createdAt``, the subject and the environment stay those of the first write.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.fake_langfuse import score_rules
from tests.fake_langfuse.modes import Mode
from tests.fake_langfuse.times import iso_ms

_KEPT = ("traceId", "observationId", "sessionId", "datasetRunId")
_MERGED = ("name", "comment", "configId", "queueId", "source", "category")


@dataclass(slots=True)
class Score:
    """One row. ``set_at`` holds, for each field, the envelope time (milliseconds) that it was set by."""

    id: str
    timestamp: str
    created_at: str
    updated_at: str
    environment: str
    fields: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    set_at: dict[str, int] = field(default_factory=dict)
    versions: int = 0  # writes, which ``totalItems`` of the v1 and v2 lists counts instead of scores

    def __getitem__(self, name: str) -> Any:
        return self.fields.get(name)

    @property
    def data_type(self) -> str:
        return str(self.fields["dataType"])

    @property
    def value(self) -> Any:
        """The value as v3/scores gives it."""
        return bool(self["value"]) if self.data_type == "BOOLEAN" else self["value"]


@dataclass(frozen=True)
class Write:
    """One accepted write: its body, the time of its envelope (milliseconds) and the score's own time."""

    body: Mapping[str, Any]
    envelope: int
    timestamp: int
    received: float


class Scores:
    """Rows by id, or by id and day where the server keys them so.

    ``replaced`` are rows under a name that a later write took away: a read by that name still shows them.
    ``dropped`` are the writes that got a 200 and were then thrown away, with the reason.
    """

    def __init__(self, mode: Mode) -> None:
        self.mode = mode
        self._rows: dict[tuple[str, str], Score] = {}
        self._by_trace: dict[str, dict[tuple[str, str], None]] = {}
        self.replaced: dict[str, list[Score]] = {}
        self.dropped: list[tuple[dict[str, Any], str]] = []
        self.configs: dict[str, dict[str, Any]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Score]:
        return iter(self._rows.values())

    def change(self, mode: Mode) -> None:
        """Keys the rows as ``mode`` does."""
        self.mode = mode
        rows, self._rows, self._by_trace = list(self), {}, {}
        for row in rows:
            self._put(self._key(row.id, row.timestamp), row)

    def of_trace(self, trace_id: str) -> list[Score]:
        return [self._rows[key] for key in self._by_trace.get(trace_id, ()) if key in self._rows]

    def with_id(self, score_id: str) -> list[Score]:
        """The rows of one id: one, or one a day."""
        if not self.mode.keyed_by_day:
            row = self._rows.get((score_id, ""))
            return [row] if row else []
        return [row for row in self._rows.values() if row.id == score_id]

    def newest(self) -> list[Score]:
        """All rows, newest time first."""
        return sorted(self._rows.values(), key=lambda row: (row.timestamp, row.id), reverse=True)

    def delete(self, rows: list[Score]) -> None:
        for row in rows:
            self._rows.pop(self._key(row.id, row.timestamp), None)
            self.replaced.pop(row.id, None)

    def apply(self, write: Write, now: str) -> None:
        """What the worker does with a write, some seconds after the answer."""
        body = dict(write.body)
        config_id = body.get("configId")
        if config_id:
            config = self.configs.get(config_id)
            reason = score_rules.against_config(body, config)
            if reason or config is None:
                self.dropped.append((body, reason or ""))
                return
            body["name"], body["dataType"] = config["name"], config["dataType"]
            if config["dataType"] == "CATEGORICAL":
                values = {one["label"]: one["value"] for one in config["categories"]}
                body["category"] = values[body["value"]]
        self._merge(body, write, now)

    def _key(self, score_id: str, timestamp: str) -> tuple[str, str]:
        return score_id, timestamp[:10] if self.mode.keyed_by_day else ""

    def _merge(self, body: dict[str, Any], write: Write, now: str) -> None:
        timestamp = iso_ms(write.timestamp)
        key = self._key(body["id"], timestamp)
        row = self._rows.get(key)
        if row is None:
            row = self._put(key, self._new(body, write, timestamp, now))
        row.updated_at = now
        row.versions += 1
        before = _copy(row)
        for name in _MERGED:
            if body.get(name) is not None and self._wins(row, name, write):
                row.fields[name] = body[name]
        if before["name"] not in (None, row["name"]):
            self.replaced.setdefault(row.id, []).append(before)
        if self._wins(row, "value", write):
            row.fields["value"] = body["value"]
            row.fields["dataType"] = body.get("dataType") or score_rules.inferred_type(body["value"])
        metadata = body.get("metadata")
        for name, value in metadata.items() if isinstance(metadata, dict) else ():
            if self._wins(row, f"metadata.{name}", write):
                row.metadata[name] = value

    def _new(self, body: dict[str, Any], write: Write, timestamp: str, now: str) -> Score:
        created = iso_ms(int(write.received) * 1000)
        row = Score(body["id"], timestamp, created, now, score_rules.environment(body.get("environment")))
        row.fields = {name: body.get(name) for name in _KEPT} | {"source": "API"}
        return row

    def _put(self, key: tuple[str, str], row: Score) -> Score:
        self._rows[key] = row
        if row["traceId"]:
            self._by_trace.setdefault(row["traceId"], {})[key] = None
        return row

    def _wins(self, row: Score, name: str, write: Write) -> bool:
        """True where ``write`` may set the field; it is then noted as the one that did."""
        before = row.set_at.get(name)
        if before is not None:
            if write.envelope < before:
                return False
            if write.envelope == before and not self.mode.equal_envelope_wins:
                return False
        row.set_at[name] = write.envelope
        return True


def _copy(row: Score) -> Score:
    copy = Score(row.id, row.timestamp, row.created_at, row.updated_at, row.environment)
    copy.fields, copy.metadata = dict(row.fields), dict(row.metadata)
    return copy
