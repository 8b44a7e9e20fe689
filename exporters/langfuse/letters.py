"""A score as the server is told it: one body for all generations, and the time that decides which write wins.

A server that takes events orders the writes of one id by their envelope's time, and an older or equal one
changes nothing; so that is the call's start and one millisecond for each revision. A server that takes lists
keys a score by id and by the day of its body's ``timestamp``; so that is the call's start, for ever. Every
field is always there: where one is absent the server keeps what an earlier write said.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tracehooks.exporters.langfuse.attributes import environment_name
from tracehooks.protocols import Delivery
from tracehooks.store.encoding import safe_text, to_json

LONGEST_TEXT = 500  # characters of a TEXT score's value
LONGEST_COMMENT = 20_000  # characters
LARGEST = 300_000  # bytes of a score with a long analysis; a request may have a million
# what the judge was asked and answered word for word stays in the store: it holds the user's own words
STAYS_HERE = frozenset({"prompt", "raw"})
# of the metadata, what a score is sent with however long the rest is
WHO = ("judge_model", "judge_trace_id", "scorer_version")
PROVENANCE = frozenset((*WHO, "band", "run", "probability", "scored_at", "revision"))
REVISION_STEP = timedelta(milliseconds=1)


class Unsendable(ValueError):  # noqa: N818 - it says what it is
    """A score that no server would keep; the message says why."""


@dataclass(frozen=True, slots=True)
class Letter:
    """One score, encoded. ``event_time`` is its envelope's, for servers that take events."""

    id: str
    body: bytes
    event_time: str
    event_id: str

    @property
    def event(self) -> bytes:
        """The score in its envelope. The same revision has the same event id, however often it is sent."""
        head = f'{{"id":"{self.event_id}","type":"score-create","timestamp":"{self.event_time}","body":'
        return b"".join((head.encode(), self.body, b"}"))


def letter(delivery: Delivery, config_id: str | None = None) -> Letter:
    """The letter for ``delivery``. Raises Unsendable for what no server would keep."""
    fields = body(delivery, config_id)
    encoded = to_json(fields).encode()
    if len(encoded) > LARGEST:
        kept = {key: value for key, value in fields["metadata"].items() if key in PROVENANCE}
        cut = {**kept, "analysis": "too long to be sent; it is in the store"}
        encoded = to_json({**fields, "metadata": cut}).encode()
    return Letter(
        id=delivery.id,
        body=encoded,
        event_time=milliseconds(delivery.time + REVISION_STEP * delivery.revision),
        event_id=f"{delivery.id}-{delivery.revision}",
    )


def body(delivery: Delivery, config_id: str | None = None) -> dict[str, Any]:
    """The score as Langfuse's API has it."""
    score, target = delivery.score, delivery.score.target
    if target is None:
        raise Unsendable("the score has no trace and span")
    if score.data_type == "TEXT" and len(str(score.value)) > LONGEST_TEXT:
        raise Unsendable(
            f"a TEXT score takes at most {LONGEST_TEXT} characters, this has {len(str(score.value))}; "
            "put the long text into the comment"
        )
    fields = {
        "id": delivery.id,
        "traceId": target.trace_id,
        "observationId": target.span_id,
        "name": score.name,
        "value": score.value,
        "dataType": score.data_type,
        "comment": comment(delivery),
        "metadata": metadata(delivery),
        "environment": environment_name(delivery.environment),
        "timestamp": milliseconds(delivery.time),
    }
    return fields if config_id is None else {**fields, "configId": config_id}


def comment(delivery: Delivery) -> str:
    """The score's reason, readable alone, and never empty: an empty one would leave an earlier one there."""
    score = delivery.score
    text = safe_text(score.comment).strip()
    if not text:
        value = f"{score.value:g}" if isinstance(score.value, float) else score.value
        text = f"{score.name}: {value}"
    return text if len(text) <= LONGEST_COMMENT else text[: LONGEST_COMMENT - 1] + "…"


def metadata(delivery: Delivery) -> Mapping[str, Any]:
    """Where the score came from: the scorer's own account, and run, draw, time and revision."""
    own = {key: value for key, value in delivery.score.metadata.items() if key not in STAYS_HERE}
    found = {
        "scorer_version": delivery.scorer_version or None,
        "judge_model": None,
        "analysis": None,
        "judge_trace_id": None,
        **own,
        "run": delivery.run_id,
        "probability": delivery.probability,
        "scored_at": None if delivery.scored_at is None else milliseconds(delivery.scored_at),
        "revision": delivery.revision,
    }
    if delivery.revision == 1:  # later ones take back what an earlier one said
        found = {key: value for key, value in found.items() if value is not None}
    return found


def milliseconds(moment: datetime) -> str:
    """``2026-11-30T12:00:00.001Z``: as fine as the server keeps it."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
