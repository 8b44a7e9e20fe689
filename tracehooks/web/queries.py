"""What an address says after its question mark, read leniently: a wrong value is told, not obeyed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from tracehooks.errors import ConfigurationError
from tracehooks.jobs.windows import parse_time
from tracehooks.records import Status
from tracehooks.settings import parse_duration
from tracehooks.store import CallKey
from tracehooks.store.search import CallQuery

UNJUDGED = "none"
STATUSES = ("", *(status.value for status in Status), UNJUDGED)


@dataclass(frozen=True, slots=True)
class Asked:
    """A search as asked: the query, the words of each field, and what could not be understood."""

    query: CallQuery
    fields: Mapping[str, str]
    after: CallKey | None = None
    problems: tuple[str, ...] = ()


@dataclass
class _Reader:
    given: Mapping[str, str]
    problems: list[str] = field(default_factory=list)

    def text(self, name: str) -> str:
        return self.given.get(name, "").strip()[:500]

    def number(self, name: str) -> float | None:
        word = self.text(name)
        try:
            return float(word) if word else None
        except ValueError:
            self.problems.append(f"{name}: {word!r} is not a number")
            return None

    def time(self, name: str, now: datetime) -> datetime | None:
        word = self.text(name)
        if not word:
            return None
        try:
            return now - parse_duration(word)
        except ValueError:
            pass
        try:
            return parse_time(word)
        except ConfigurationError:
            self.problems.append(
                f"{name}: {word!r} is neither a time such as 2026-11-30 nor a span such as 24h"
            )
            return None

    def status(self) -> str:
        word = self.text("status")
        if word not in STATUSES:
            self.problems.append(f"status: known are {', '.join(STATUSES[1:])}")
            return ""
        return word


FIELDS = ("q", "agent", "environment", "session", "user", "score", "status", "above", "from", "to")


def asked(given: Mapping[str, str]) -> Asked:
    """The search that an address asks for."""
    read, now = _Reader(given), datetime.now(UTC)
    status = read.status()
    query = CallQuery(
        agent=read.text("agent"),
        environment=read.text("environment"),
        session_id=read.text("session"),
        user_id=read.text("user"),
        start=read.time("from", now),
        end=read.time("to", now),
        score=read.text("score"),
        status=Status(status) if status and status != UNJUDGED else None,
        above=read.number("above"),
        unjudged=status == UNJUDGED,
        words=read.text("q"),
    )
    fields = {name: read.text(name) for name in FIELDS}
    return Asked(query, fields, _after(read), tuple(read.problems))


def address(fields: Mapping[str, str], key: CallKey | None = None) -> str:
    """The part of an address behind its path that asks for ``fields``, going on from ``key``."""
    given = {name: value for name, value in fields.items() if value}
    if key is not None:
        micros = (key.start - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
        given["after"] = f"{micros}-{key.trace_id}-{key.span_id}"
    return f"?{urlencode(given)}" if given else ""


def _after(read: _Reader) -> CallKey | None:
    word = read.text("after")
    if not word:
        return None
    micros, _, rest = word.partition("-")
    trace_id, _, span_id = rest.partition("-")
    try:
        start = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(micros))
    except (ValueError, OverflowError):
        read.problems.append("after: not a place in a listing, so this is its beginning")
        return None
    return CallKey(start, trace_id, span_id)
