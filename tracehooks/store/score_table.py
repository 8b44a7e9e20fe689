"""The tables of scores and of their history, and how their rows are made and read."""

from typing import Any

from sqlalchemy import BigInteger, ColumnClause, Double, Text, column, table

from tracehooks.breathing import breathe
from tracehooks.records import AgentCall, Reason, Score, Status, TraceRef, score_id
from tracehooks.store.encoding import (
    from_json,
    from_micros,
    optional_text,
    safe_text,
    to_json,
    to_micros,
)
from tracehooks.store.rows import ScoreRecord, StoredScore


def _result() -> list[ColumnClause[Any]]:
    """What one result says: a score has the newest that counts, its history all of them."""
    return [
        column("status", Text),
        column("data_type", Text),
        column("number", Double),
        column("text", Text),
        column("reason_code", Text),
        column("revision", BigInteger),
        column("scorer_version", Text),
        column("run_id", Text),
        column("probability", Double),
        column("scored_at", BigInteger),
        column("source", Text),
        column("comment", Text),
        column("metadata", Text),
    ]


SCORES = table(
    "scores",
    column("id", Text),
    column("project", Text),
    column("name", Text),
    column("trace_id", Text),
    column("span_id", Text),
    column("entries", BigInteger),
    column("call_start", BigInteger),
    column("call_name", Text),
    column("environment", Text),
    column("call", Text),
    *_result(),
)
HISTORY = table("score_history", column("score_id", Text), column("entry", BigInteger), *_result())
STATUSES = {status.value: status for status in Status}
RESULT = tuple(item.name for item in _result())
# what is kept of a call beside its score, for when the call is pruned; its texts are not
CALL_FIELDS = ("session_id", "user_id", "service", "version", "error", "truncated", "text_source")


def score_row(record: ScoreRecord, call: AgentCall | None, project: str, now: int) -> dict[str, Any]:
    """The row of one result, as if it were the first for its score. ``now`` is in microseconds."""
    breathe()
    score, target = record.score, record.score.target or (call and call.ref)
    assert target is not None, "checked at the door"
    known = call or AgentCall()
    return {
        "id": score_id(project, target.trace_id, target.span_id, score.name),
        "project": safe_text(project),
        "name": safe_text(score.name),
        "trace_id": target.trace_id,
        "span_id": target.span_id,
        "entries": 1,
        "call_start": now if call is None else to_micros(call.start),
        "call_name": safe_text(known.name),
        "environment": safe_text(known.environment),
        "call": "{}" if call is None else to_json(_kept(call)),
        "status": score.status.value,
        "data_type": score.data_type,
        "number": score.value if isinstance(score.value, float) else None,
        "text": safe_text(score.value) if isinstance(score.value, str) else None,
        "reason_code": None if score.reason_code is None else score.reason_code.value,
        "revision": 1,
        "scorer_version": safe_text(record.scorer_version),
        "run_id": optional_text(record.run_id),
        "probability": record.probability,
        "scored_at": now,
        "source": safe_text(record.source),
        "comment": safe_text(score.comment),
        "metadata": to_json(score.metadata),
    }


def _kept(call: AgentCall) -> dict[str, Any]:
    return {
        "end": to_micros(call.end),
        "tags": call.tags,
        "metadata": call.metadata,
        **{name: getattr(call, name) for name in CALL_FIELDS},
    }


def kept_call(row: Any) -> AgentCall | None:
    """The scored call without its texts, as it was when it was scored; None when it was not known."""
    kept = from_json(row["call"])
    if not kept:
        return None
    return AgentCall(
        trace_id=row["trace_id"],
        span_id=row["span_id"],
        name=row["call_name"],
        start=from_micros(row["call_start"]),
        end=from_micros(kept["end"]),
        environment=row["environment"],
        tags=tuple(kept["tags"]),
        metadata=kept["metadata"],
        **{name: kept[name] for name in CALL_FIELDS},
    )


def stored_score(row: Any) -> StoredScore:
    """The score of one row of ``SCORES``, or of ``HISTORY`` with the identity columns of its score."""
    return StoredScore(
        id=row["id"],
        name=row["name"],
        status=Status(row["status"]),
        value=row["text"] if row["number"] is None else row["number"],
        reason_code=None if row["reason_code"] is None else Reason(row["reason_code"]),
        comment=row["comment"],
        trace_id=row["trace_id"],
        span_id=row["span_id"],
        data_type=row["data_type"],
        metadata=from_json(row["metadata"]),
        revision=row["revision"],
        scorer_version=row["scorer_version"],
        run_id=row["run_id"],
        probability=row["probability"],
        call_start=from_micros(row["call_start"]),
        call_name=row["call_name"],
        environment=row["environment"],
        scored_at=from_micros(row["scored_at"]),
        source=row["source"],
        entries=row["entries"],
    )


def score_of(row: Any) -> Score:
    """The Score of one row of ``SCORES``, as its scorer made it."""
    return Score(
        name=row["name"],
        status=STATUSES[row["status"]],
        value=row["text"] if row["number"] is None else row["number"],
        reason_code=row["reason_code"],
        comment=row["comment"],
        target=TraceRef(row["trace_id"], row["span_id"]),
        data_type=row["data_type"],
        metadata=from_json(row["metadata"]),
    )
