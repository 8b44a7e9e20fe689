"""The one transaction in which results become scores: work item, score, history and outbox together."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select

from tracehooks.records import AgentCall, Status, TraceRef
from tracehooks.store.calls import read_calls
from tracehooks.store.encoding import chunks
from tracehooks.store.items import finish
from tracehooks.store.outbox import enqueue
from tracehooks.store.rows import ScoreRecord
from tracehooks.store.score_table import HISTORY, RESULT, SCORES, score_row
from tracehooks.store.upserts import upsert

IDS_AT_ONCE = 500
BY_ID = select(SCORES).where(SCORES.c.id.in_(bindparam("ids", expanding=True)))
ADD_HISTORY = insert(HISTORY)
SCORED = Status.SCORED.value


def commit(
    connection: Connection,
    records: Sequence[ScoreRecord],
    project: str,
    sinks: Sequence[str],
    now: int,
    all_results: Sequence[str] = (),
    unwanted: Mapping[str, Collection[str]] | None = None,
) -> list[bool]:
    """Write ``records`` within the transaction of ``connection``; see :meth:`Scores.commit`."""
    with_items = [(record.item, record.score) for record in records if record.item is not None]
    finished = finish(connection, with_items)
    taken = [record.item is None or (record.item.run_id, *record.item.key) in finished for record in records]
    ours = [record for record, yes in zip(records, taken, strict=True) if yes]
    calls = _missing_calls(connection, ours)
    rows = [score_row(record, record.call or calls.get(address(record)), project, now) for record in ours]
    scored, others = _merge(connection, ours, rows)
    names = {row["id"]: row["name"] for row in rows}
    for sink in dict.fromkeys(sinks):
        new = {**scored, **others} if sink in all_results else scored
        refused = (unwanted or {}).get(sink, ())
        enqueue(connection, sink, {key: n for key, n in new.items() if names[key] not in refused}, now)
    return taken


def address(record: ScoreRecord) -> TraceRef:
    """What was scored. Raises ValueError when the record does not say."""
    if record.score.target is not None:
        return record.score.target
    if record.call is None:
        raise ValueError(f"{record.score.name}: a score needs a target, or the call that it is about")
    return record.call.ref


def _missing_calls(connection: Connection, records: Iterable[ScoreRecord]) -> dict[TraceRef, AgentCall]:
    refs = {address(record) for record in records if record.call is None}
    calls = read_calls(connection, [(ref.trace_id, ref.span_id) for ref in refs])
    return {call.ref: call for call in calls.values()}


def _merge(
    connection: Connection, records: Sequence[ScoreRecord], rows: Sequence[dict[str, Any]]
) -> tuple[dict[str, int], dict[str, int]]:
    """Bring the results together with the scores that are there, in the order given.

    Returns the revisions by id of what is new: scored, and of any other status.
    """
    scores = _known(connection, {row["id"] for row in rows})
    history: list[dict[str, Any]] = []
    new: dict[str, dict[str, Any]] = {}
    for record, row in zip(records, rows, strict=True):
        score = scores[row["id"]] = _newer(scores.get(row["id"]), row, rescore=record.rescore)
        history.append(
            {**{name: row[name] for name in RESULT}, "score_id": row["id"], "entry": score["entries"]}
        )
        if score is row:
            new[row["id"]] = row
    upsert(connection, SCORES, ["id"], list(scores.values()))
    if history:
        connection.execute(ADD_HISTORY, history)
    scored = {key: row["revision"] for key, row in new.items() if row["status"] == SCORED}
    return scored, {key: row["revision"] for key, row in new.items() if key not in scored}


def _newer(known: dict[str, Any] | None, row: dict[str, Any], *, rescore: bool) -> dict[str, Any]:
    """The score after one more result, brought up to date: ``row`` where that counts, else the known one."""
    if known is None:
        return row
    row["entries"] = known["entries"] + 1
    row["revision"] = known["revision"]
    if known["status"] != SCORED:
        return row
    if row["status"] != SCORED or not rescore:
        known["entries"] += 1
        return known
    row["revision"] += 1
    # backends find a score by its time too: once it was sent, the time stays
    row["call_start"] = known["call_start"]
    return row


def _known(connection: Connection, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for chunk in chunks(sorted(ids), IDS_AT_ONCE):
        for row in connection.execute(BY_ID, {"ids": chunk}).mappings():
            found[row["id"]] = {str(name): value for name, value in row.items()}
    return found
