"""Calls as a person looks for them: newest first, by who, where, when, how scored, and what was said."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Select, and_, exists, func, or_, select

from tracehooks.records import AgentCall, Status
from tracehooks.store.calls import CALLS, ORDER, beyond, call_of
from tracehooks.store.database import Database
from tracehooks.store.encoding import from_micros, to_micros
from tracehooks.store.filters import WILDCARDS
from tracehooks.store.rows import CallKey
from tracehooks.store.score_table import SCORES

LOOKED_THROUGH = 20_000
"""How many calls one search for words reads at most; it goes on from there on the next page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallQuery:
    """What is looked for; what is not given is not asked.

    ``agent`` may hold ``*`` and ``?``. ``score`` names a score; ``status`` is the one it must have, ``above``
    a bound that its value must exceed. ``unjudged`` asks for calls without any score, of that name if one is
    given. ``words`` must stand in the input or the output, in any case.
    """

    agent: str = ""
    environment: str = ""
    session_id: str = ""
    user_id: str = ""
    start: datetime | None = None
    end: datetime | None = None
    score: str = ""
    status: Status | None = None
    above: float | None = None
    unjudged: bool = False
    words: str = ""


@dataclass(frozen=True, slots=True)
class FoundCalls:
    """One page of a search. ``next`` is where it goes on, None at the end.

    ``looked_until`` is set when the search for words stopped before the page was full: the start of the last
    call that it read.
    """

    calls: tuple[AgentCall, ...]
    next: CallKey | None = None
    looked_until: datetime | None = None


class Search:
    """Looks calls up. Each question reads a bounded number of rows, whatever the size of the store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def calls(self, query: CallQuery, after: CallKey | None = None, limit: int = 50) -> FoundCalls:
        """The newest calls that match, at most ``limit``; ``after`` is the ``next`` of the page before."""
        return self._database.read(lambda connection: _found(connection, query, after, limit))

    def names(self, looked_at: int = 1000) -> dict[str, list[str]]:
        """The ``agent``, ``environment`` and ``score`` names among the newest calls and scores, in order."""
        newest = select(CALLS.c.name, CALLS.c.environment).order_by(CALLS.c.start.desc()).limit(looked_at)
        scored = select(SCORES.c.name).order_by(SCORES.c.call_start.desc()).limit(looked_at)

        def work(connection: Connection) -> dict[str, list[str]]:
            rows = connection.execute(newest).all()
            return {
                "agent": sorted({row.name for row in rows}),
                "environment": sorted({row.environment for row in rows}),
                "score": sorted(set(connection.scalars(scored))),
            }

        return self._database.read(work)


def _found(connection: Connection, query: CallQuery, after: CallKey | None, limit: int) -> FoundCalls:
    matching = select(CALLS).where(*_conditions(query))
    if after is not None:
        matching = matching.where(beyond(after, newest_first=True))
    matching = matching.order_by(*(item.desc() for item in ORDER))
    if query.words:
        return _with_words(connection, matching, query.words, limit)
    return _page(connection, matching, limit)


def _page(connection: Connection, matching: Select[tuple[object, ...]], limit: int) -> FoundCalls:
    calls = [call_of(row) for row in connection.execute(matching.limit(limit + 1))]
    more = len(calls) > limit
    return FoundCalls(tuple(calls[:limit]), CallKey.of(calls[limit - 1]) if more else None)


def _with_words(
    connection: Connection, matching: Select[tuple[object, ...]], words: str, limit: int
) -> FoundCalls:
    read = matching.limit(LOOKED_THROUGH).subquery()
    said = or_(
        read.c.input.icontains(words, autoescape=True), read.c.output.icontains(words, autoescape=True)
    )
    order = [read.c[item.name].desc() for item in ORDER]
    found = _page(connection, select(read).where(said).order_by(*order), limit)
    if found.next is not None:
        return found
    last = connection.execute(
        select(read.c.start, read.c.trace_id, read.c.span_id)
        .order_by(*(read.c[item.name] for item in ORDER))
        .limit(1)
    ).one_or_none()
    count = connection.scalar(select(func.count()).select_from(read)) or 0
    if last is None or count < LOOKED_THROUGH:
        return found
    key = CallKey(from_micros(last.start), last.trace_id, last.span_id)
    return FoundCalls(found.calls, key, key.start)


def _conditions(query: CallQuery) -> list[ColumnElement[bool]]:
    equal = {"environment": query.environment, "session_id": query.session_id, "user_id": query.user_id}
    asked: list[ColumnElement[bool]] = [CALLS.c[name] == value for name, value in equal.items() if value]
    if query.agent:
        asked.append(_named(query.agent))
    if query.start is not None:
        asked.append(CALLS.c.start >= to_micros(query.start))
    if query.end is not None:
        asked.append(CALLS.c.start < to_micros(query.end))
    if query.unjudged:
        asked.append(~exists().where(*_its_scores(query)))
    elif query.score or query.status is not None or query.above is not None:
        asked.append(exists().where(*_its_scores(query)))
    return asked


def _named(agent: str) -> ColumnElement[bool]:
    if WILDCARDS.isdisjoint(agent):
        return CALLS.c.name == agent
    escaped = agent.replace("\\", "\\\\").replace("%", r"\%").replace("_", r"\_")
    return CALLS.c.name.like(escaped.replace("*", "%").replace("?", "_"), escape="\\")


def _its_scores(query: CallQuery) -> list[ColumnElement[bool]]:
    # an empty text is added so that each call's scores are looked up by its trace: by their name or status
    # there are as many as there are calls
    asked = [and_(SCORES.c.trace_id == CALLS.c.trace_id, SCORES.c.span_id == CALLS.c.span_id)]
    if query.score:
        asked.append(SCORES.c.name + "" == query.score)
    if query.status is not None:
        asked.append(SCORES.c.status + "" == query.status.value)
    if query.above is not None:
        asked.append(SCORES.c.number > query.above)
    return asked
