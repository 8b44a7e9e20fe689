"""A score as the server is told it: one body for all generations, and the time that decides which write wins.

A server that takes events orders the writes of one id by their envelope's time, and an older or equal one
changes nothing; so that is the call's start and one millisecond for each revision. A server that takes lists
keys a score by id and by the day of its body's ``timestamp``; so that is the call's start, for ever. Every
field is always there: where one is absent the server keeps what an earlier write said.
"""

from collections.abc import Mapping
from datetime import timedelta
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from tracehooks.exporters.langfuse.attributes import environment_name
from tracehooks.protocols import ScoreRow
from tracehooks.records import EPOCH

LONGEST_TEXT = 500  # characters of a TEXT score's value
LONGEST_COMMENT = 20_000  # characters
LARGEST = 300_000  # bytes of a score with a long analysis; a request may have a million
# what the judge was asked and answered word for word stays in the store: it holds the user's own words
STAYS_HERE = frozenset({"prompt", "raw"})
# of the metadata, what a score is sent with however long the rest is
WHO = ("judge_model", "judge_trace_id", "scorer_version")
PROVENANCE = frozenset((*WHO, "band", "run", "probability", "scored_at", "revision"))
TAKEN_BACK = ("judge_model", "analysis", "judge_trace_id")
REVISION_STEP = 1000  # microseconds


class Unsendable(ValueError):  # noqa: N818 - it says what it is
    """A score that no server would keep; the message says why."""


class Letter(NamedTuple):
    """One score, encoded. ``event_time`` is its envelope's, for servers that take events."""

    id: str
    body: bytes
    event_time: str
    event_id: str

    @property
    def event(self) -> bytes:
        """The score in its envelope. The same revision has the same event id, however often it is sent."""
        head = f'{{"id":"{self.event_id}","type":"score-create","timestamp":"{self.event_time}","body":'
        return b"%b%b}" % (head.encode(), self.body)


def letter(row: ScoreRow, config_id: str | None = None) -> Letter:
    """The letter for ``row``. Raises Unsendable for what no server would keep."""
    fields = body(row, config_id)
    encoded = _encoded(fields)
    if encoded is None or len(encoded) > LARGEST:
        kept = {key: value for key, value in fields["metadata"].items() if key in PROVENANCE}
        cut = {**kept, "analysis": "too long or too deep to be sent; it is in the store"}
        encoded = _encoded({**fields, "metadata": cut})
        if encoded is None:
            raise Unsendable(f"its metadata is nested too deep, in one of {', '.join(sorted(kept))}")
    event_time = milliseconds(row.call_start + REVISION_STEP * row.revision)
    return Letter(row.id, encoded, event_time, f"{row.id}-{row.revision}")


def _encoded(fields: Mapping[str, Any]) -> bytes | None:
    """As JSON; None for what is nested too deep, of which the store takes a little more."""
    try:
        return orjson.dumps(fields)
    except TypeError:
        return None


def body(row: ScoreRow, config_id: str | None = None) -> dict[str, Any]:
    """The score as Langfuse's API has it."""
    if row.data_type == "TEXT" and len(row.text or "") > LONGEST_TEXT:
        raise Unsendable(
            f"a TEXT score takes at most {LONGEST_TEXT} characters, this has {len(row.text or '')}; "
            "put the long text into the comment"
        )
    fields = {
        "id": row.id,
        "traceId": row.trace_id,
        "observationId": row.span_id,
        "name": row.name,
        "value": row.value,
        "dataType": row.data_type,
        "comment": comment(row),
        "metadata": metadata(row),
        "environment": environment_name(row.environment),
        "timestamp": milliseconds(row.call_start),
    }
    if config_id is not None:
        fields["configId"] = config_id
    return fields


def comment(row: ScoreRow) -> str:
    """The score's reason, readable alone, and never empty: an empty one would leave an earlier one there."""
    text = row.comment.strip()
    if not text:
        value = f"{row.value:g}" if isinstance(row.value, float) else row.value
        text = f"{row.name}: {value}"
    return text if len(text) <= LONGEST_COMMENT else text[: LONGEST_COMMENT - 1] + "…"


def metadata(row: ScoreRow) -> Mapping[str, Any]:
    """Where the score came from: the scorer's own account, and run, draw, time and revision."""
    stored = orjson.loads(row.metadata)
    # one odd score must not keep those that are sent with it
    found: dict[str, Any] = stored if isinstance(stored, dict) else {}
    for name in STAYS_HERE:
        found.pop(name, None)
    found.setdefault("scorer_version", row.scorer_version or None)
    found["run"] = row.run_id
    found["probability"] = row.probability
    found["scored_at"] = milliseconds(row.scored_at)
    found["revision"] = row.revision
    if row.revision == 1:
        return {key: value for key, value in found.items() if value is not None}
    for name in TAKEN_BACK:  # what an earlier revision said of these does not hold for this one
        found.setdefault(name, None)
    return found


def milliseconds(micros: int) -> str:
    """``2026-11-30T12:00:00.001Z``, of microseconds since 1970: as fine as the server keeps it."""
    seconds, rest = divmod(micros, 1_000_000)
    return f"{_second(seconds)}.{rest // 1000:03}Z"


@lru_cache(maxsize=1024)
def _second(seconds: int) -> str:
    """The same to the second; of the times in one score most are of the same."""
    return (EPOCH + timedelta(seconds=seconds)).isoformat()[:19]
