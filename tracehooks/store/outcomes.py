"""What becomes of a delivery when its sink has answered, or when it was looked for."""

from datetime import timedelta
from typing import Any, NamedTuple

from tracehooks.store.encoding import duration_micros, optional_text

FIRST_PAUSE = timedelta(seconds=5)
LONGEST_PAUSE = timedelta(minutes=10)
# between looking for a score that was accepted and looking again; then it is sent again
CHECK_PAUSES = tuple(timedelta(seconds=seconds) for seconds in (5, 10, 20, 40, 80))
MOST_RESENT = 3


class Counters(NamedTuple):
    """What a row counts: sendings, looks in vain since it was accepted, and sendings for nothing."""

    attempts: int
    checks: int
    resent: int


def accepted(now: int, confirm_after: int) -> dict[str, Any]:
    """What a sink's yes makes of a row, whatever was before; it also counts one more attempt."""
    fresh = {"owner": None, "updated_at": now, "error": None}
    return fresh | {"state": "accepted", "checks": 0, "next_attempt": now + confirm_after}


def confirmed(now: int) -> dict[str, Any]:
    """What finding the score as it was sent makes of a row."""
    return {"owner": None, "updated_at": now, "error": None, "state": "confirmed"}


def refused(receipt: tuple[Any, ...], row: Counters, now: int) -> dict[str, Any]:
    """What a receipt (error, retry, retry after) makes of its row."""
    error, retry, retry_after = receipt
    attempts = row.attempts + 1
    values = {"attempts": attempts, "owner": None, "updated_at": now, "error": optional_text(error)}
    if not retry:
        return values | {"state": "dead"}
    pause = pause_after(attempts) if retry_after is None else timedelta(seconds=retry_after)
    return values | {"next_attempt": now + duration_micros(pause)}


def not_found(read_back: tuple[Any, ...], row: Counters, now: int) -> dict[str, Any]:
    """What looking for a score in vain (what was found, and a detail) makes of its row."""
    found, detail = read_back
    values: dict[str, Any] = {"owner": None, "updated_at": now, "error": None}
    if row.checks < len(CHECK_PAUSES):
        next_attempt = now + duration_micros(CHECK_PAUSES[row.checks])
        return values | {"checks": row.checks + 1, "next_attempt": next_attempt}
    what = "it is not there" if found == "missing" else "something else is there"
    values["error"] = optional_text(f"accepted, but {what} when read back: {detail}".rstrip(": "))
    state = "dead" if row.resent >= MOST_RESENT else "pending"
    return values | {"state": state, "checks": 0, "resent": row.resent + 1, "next_attempt": now}


def pause_after(attempts: int) -> timedelta:
    """How long to wait after so many failed attempts: 5 s, twice as long each time, at most 10 minutes."""
    doublings = min(attempts - 1, 20)
    return min(FIRST_PAUSE * (1 << doublings), LONGEST_PAUSE)
