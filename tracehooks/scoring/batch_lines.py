"""The lines that a batch brought: which requests they answer, and what those used."""

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from tracehooks.judges.terms import NOTHING
from tracehooks.judges.terms import UNKNOWN as UNKNOWN_USAGE
from tracehooks.judges.wire import completion_of
from tracehooks.protocols import Usage
from tracehooks.store.batches import StoredLetter

OK, SERVER_FAILED = 200, 500


@dataclass(slots=True)
class Collected:
    """(status, body as JSON text) by custom id, in whatever order the lines came.

    ``answered`` counts those with status 200, ``ignored`` the lines that are broken, that answer a request a
    second time, or one that was never sent.
    """

    replies: dict[str, tuple[int, str]] = field(default_factory=dict)
    answered: int = 0
    ignored: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


def collected(known: Collection[str], lines: Iterable[Any]) -> Collected:
    """What the lines say of the requests ``known`` by their custom ids.

    A request that was never executed, as when its batch expired, has a line without a response; it is as good
    as none.
    """
    found = Collected()
    for line in lines:
        custom_id = line.get("custom_id") if isinstance(line, dict) else None
        if not isinstance(custom_id, str) or custom_id not in known or custom_id in found.replies:
            found.ignored += 1
            continue
        response = line.get("response")
        status = response.get("status_code") if isinstance(response, dict) else None
        if isinstance(status, int) and not isinstance(status, bool):
            _take(found, custom_id, status, response.get("body"))
    return found


def usage_of(letter: StoredLetter, *, unknown: bool) -> Usage:
    """What a request used: nothing without an answer, unless it is ``unknown`` whether there was one."""
    if letter.status is None:
        return UNKNOWN_USAGE if unknown else NOTHING
    if letter.status == OK:
        return _usage(json.loads(letter.reply or "null"))
    return NOTHING if letter.status < SERVER_FAILED else UNKNOWN_USAGE


def _take(found: Collected, custom_id: str, status: int, body: Any) -> None:
    found.replies[custom_id] = status, json.dumps(body)  # ASCII: no text is lost
    if status == OK:
        used = _usage(body)
        found.answered += 1
        found.input_tokens += used.input_tokens or 0
        found.output_tokens += used.output_tokens or 0


def _usage(body: Any) -> Usage:
    return completion_of(body).usage if isinstance(body, dict) else UNKNOWN_USAGE
