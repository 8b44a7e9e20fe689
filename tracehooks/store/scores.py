"""Stored scores: committed in one transaction, listed by the time of the scored call."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, literal, select, tuple_

from tracehooks.records import Status, TraceRef
from tracehooks.store.commit import address, commit
from tracehooks.store.database import Area, Database
from tracehooks.store.encoding import chunks, to_micros
from tracehooks.store.filters import conditions, matches
from tracehooks.store.rows import CallFilter, ScoreKey, ScoreRecord, StoredScore
from tracehooks.store.score_table import HISTORY, RESULT, SCORES, kept_call, stored_score

ORDER = (SCORES.c.call_start, SCORES.c.id)
ABOUT_THE_CALL = {"environment": SCORES.c.environment, "name": SCORES.c.call_name}
PAGE = 500


class Scores:
    """The scores, one for each project, call and name."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database, self._clock = database, clock

    def commit(
        self,
        records: Sequence[ScoreRecord],
        *,
        project: str,
        sinks: Sequence[str],
        all_results: Sequence[str] = (),
        unwanted: Mapping[str, Collection[str]] | None = None,
    ) -> list[bool]:
        """Commit results: score, history, outbox and work item in one transaction for all ``records``.

        Returns for each whether it was taken. False: its work item was taken over by another meanwhile
        (the token is stale), and nothing of it was written. A scored result stays unless the record is a
        ``rescore``, which raises the revision; an unscored or skipped one never replaces a scored one.
        History keeps every result that was taken. ``sinks`` get what is scored; those of them that are in
        ``all_results`` also what is unscored or skipped; ``unwanted`` are the names of scores that a sink is
        not to get, by sink. Raises ValueError for a record that says neither target nor call.
        """
        for record in records:
            address(record)
        now = to_micros(self._clock())
        if not records:
            return []
        return self._database.write(
            Area.WORK,
            lambda connection: commit(connection, records, project, sinks, now, all_results, unwanted),
        )

    def get(self, score_id: str) -> StoredScore | None:
        """The score with this id."""
        return next(iter(self._read(select(SCORES).where(SCORES.c.id == score_id))), None)

    def history(self, score_id: str) -> list[StoredScore]:
        """Every result committed under this id, oldest first."""
        identity = [item for item in SCORES.c if item.name not in RESULT]
        results = [item for item in HISTORY.c if item.name in RESULT]
        query = (
            select(*identity, *results)
            .join_from(HISTORY, SCORES, HISTORY.c.score_id == SCORES.c.id)
            .where(HISTORY.c.score_id == score_id)
            .order_by(HISTORY.c.entry)
        )
        return self._read(query)

    def of_trace(self, trace_id: str) -> list[StoredScore]:
        """All scores of one trace, by span and name."""
        query = select(SCORES).where(SCORES.c.trace_id == trace_id)
        return self._read(query.order_by(SCORES.c.span_id, SCORES.c.name, SCORES.c.id))

    def of_traces(self, trace_ids: Iterable[str]) -> dict[str, list[StoredScore]]:
        """All scores of these traces, by trace id, each list by span and name. Some may have none."""
        found: dict[str, list[StoredScore]] = {}
        for traces in chunks(sorted(set(trace_ids)), PAGE):
            query = select(SCORES).where(SCORES.c.trace_id.in_(traces))
            for score in self._read(query.order_by(SCORES.c.span_id, SCORES.c.name, SCORES.c.id)):
                found.setdefault(score.trace_id, []).append(score)
        return found

    def of_calls(self, refs: Iterable[TraceRef], name: str) -> dict[tuple[str, str], StoredScore]:
        """The scores called ``name`` of these calls, by (trace id, span id)."""
        wanted = {(ref.trace_id, ref.span_id) for ref in refs}
        found: dict[tuple[str, str], StoredScore] = {}
        for traces in chunks(sorted({trace_id for trace_id, _ in wanted}), PAGE):
            query = select(SCORES).where(SCORES.c.trace_id.in_(traces), SCORES.c.name == name)
            for score in self._read(query.order_by(SCORES.c.scored_at)):
                found[score.trace_id, score.span_id] = score
        return {key: score for key, score in found.items() if key in wanted}

    def page(
        self,
        name: str | None = None,
        status: Status | str | None = None,
        start: datetime | None = None,
        end: datetime | None = None,
        after: ScoreKey | None = None,
        limit: int = PAGE,
        *,
        newest_first: bool = False,
    ) -> list[StoredScore]:
        """At most ``limit`` scores of calls with ``start <= call's start < end``, ordered by ScoreKey.

        ``after`` is the key of the last score of the page before. Fewer than ``limit`` means the end.
        """
        query = _window(select(SCORES), start, end)
        if name is not None:
            query = query.where(SCORES.c.name == name)
        if status is not None:
            query = query.where(SCORES.c.status == Status(status).value)
        return self._read(_on_from(query, after, limit, newest_first=newest_first))

    def in_window(
        self,
        name: str,
        start: datetime | None = None,
        end: datetime | None = None,
        filters: CallFilter | None = None,
    ) -> Iterator[StoredScore]:
        """The scores called ``name`` of the calls that started in the window, in order, in any status.

        ``filters`` ask about the scored call as it was when it was scored. Read page by page.
        """
        query = _window(select(SCORES).where(SCORES.c.name == name), start, end)
        query = query.where(*conditions(filters, ABOUT_THE_CALL))
        key: ScoreKey | None = None
        while rows := self._rows(_on_from(query, key, PAGE)):
            scores = [stored_score(row) for row in rows]
            key = scores[-1].key
            for row, score in zip(rows, scores, strict=True):
                if filters is None or _passes(filters, row):
                    yield score

    def _read(self, query: Any) -> list[StoredScore]:
        return [stored_score(row) for row in self._rows(query)]

    def _rows(self, query: Any) -> Sequence[Any]:
        return self._database.read(lambda connection: connection.execute(query).mappings().all())


def _passes(filters: CallFilter, row: Mapping[str, Any]) -> bool:
    call = kept_call(row)
    return call is not None and matches(filters, call)


def _window(query: Any, start: datetime | None, end: datetime | None) -> Any:
    if start is not None:
        query = query.where(SCORES.c.call_start >= to_micros(start))
    if end is not None:
        query = query.where(SCORES.c.call_start < to_micros(end))
    return query


def _on_from(query: Any, key: ScoreKey | None, limit: int, *, newest_first: bool = False) -> Any:
    if key is not None:
        query = query.where(_beyond(key, newest_first))
    return query.order_by(*(item.desc() if newest_first else item for item in ORDER)).limit(limit)


def _beyond(key: ScoreKey, newest_first: bool) -> ColumnElement[bool]:
    here = tuple_(literal(to_micros(key.call_start), BigInteger), literal(key.id))
    return tuple_(*ORDER) < here if newest_first else tuple_(*ORDER) > here
