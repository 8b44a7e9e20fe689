"""Stored replays: what a noise run asks an agent, claimed under leases that expire, and what came of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Literal

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Double,
    Text,
    and_,
    column,
    func,
    select,
    table,
    tuple_,
    update,
)

from tracehooks.records import Reason
from tracehooks.store.claims import PLANNED, Claims
from tracehooks.store.encoding import chunks, duration_micros, optional_text, safe_text, to_micros
from tracehooks.store.upserts import insert_missing

ReplayState = Literal["planned", "claimed", "done"]
ReplayKey = tuple[str, str, str, int]

REPLAYS = table(
    "replays",
    column("run_id", Text),
    column("agent", Text),
    column("dataset", Text),
    column("case_id", Text),
    column("variant", Text),  # empty for the clean question
    column("repeat", BigInteger),
    column("position", BigInteger),
    column("noise_type", Text),
    column("min_score", Double),
    column("state", Text),
    column("token", BigInteger),
    column("attempts", BigInteger),
    column("owner", Text),
    column("claimable_at", BigInteger),  # 0 when planned, the lease's end when claimed, null when done
    column("trace_id", Text),
    column("span_id", Text),
    column("answer", Text),
    column("error", Text),
    column("reason_code", Text),
    column("detail", Text),
    column("done_at", BigInteger),
)
KEY = ("run_id", "agent", "dataset", "case_id", "variant", "repeat")
AT_ONCE = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """One question that a run asks an agent, and, once ``state`` is ``done``, what came of it.

    ``variant`` is None for the clean question. ``repeat`` and ``position`` (its place in the run) count from
    0. ``answer`` is the agent's text, None when it said nothing; ``error`` how it failed. ``reason`` says
    before any judge is asked why there can be no score, ``detail`` the same in words. ``token`` is the
    fencing token, as a work item's.
    """

    run_id: str
    agent: str
    dataset: str
    case: str
    variant: str | None
    repeat: int
    noise_type: str = ""
    position: int = 0
    min_score: float | None = None
    state: ReplayState = "planned"
    token: int = 0
    attempts: int = 0
    owner: str | None = None
    trace_id: str | None = None
    span_id: str | None = None
    answer: str | None = None
    error: str | None = None
    reason: Reason | None = None
    detail: str = ""

    @property
    def key(self) -> ReplayKey:
        """What tells it from the others of its run and agent: dataset, case, variant (or ""), repeat."""
        return self.dataset, self.case, self.variant or "", self.repeat

    @property
    def done(self) -> bool:
        """Whether the agent was asked."""
        return self.state == "done"


@dataclass(frozen=True, slots=True)
class ReplayCounts:
    """A run's replays by what became of them: planned = answered + agent_errors + not_attempted.

    Of those not attempted the ``waiting`` are to be asked yet; the ``unaskable`` never will be: their noise
    cannot be brought to the agent.
    """

    answered: int = 0
    agent_errors: int = 0
    waiting: int = 0
    unaskable: int = 0

    @property
    def not_attempted(self) -> int:
        """Those that the agent was not asked."""
        return self.waiting + self.unaskable

    @property
    def planned(self) -> int:
        """All of them."""
        return self.answered + self.agent_errors + self.not_attempted


class Replays(Claims[Replay]):
    """The replays of runs."""

    _rows = REPLAYS
    _at_once = 200  # their keys are long

    @staticmethod
    def _held(rows: Sequence[Replay]) -> ColumnElement[bool]:
        return _held(rows)

    def add(self, replays: Iterable[Replay]) -> int:
        """Put questions up; those that are there already stay as they are. Returns how many are new."""
        new = 0
        for chunk in chunks(replays, AT_ONCE):
            rows = [_row(replay) for replay in chunk]
            new += self._write(partial(insert_missing, table=REPLAYS, keys=KEY, rows=rows))
        return new

    def claim(self, run_id: str, owner: str, limit: int, lease: timedelta) -> list[Replay]:
        """Take at most ``limit`` for ``owner``, in their order: planned ones, and those whose lease is over.

        Atomic: no two claims get the same one. Each claim raises its token, so that what an earlier holder
        brings is refused.
        """
        now = to_micros(self._clock())
        due = (
            select(*(REPLAYS.c[name] for name in KEY))
            .where(REPLAYS.c.run_id == run_id, REPLAYS.c.claimable_at <= now)
            .order_by(REPLAYS.c.position, *(REPLAYS.c[name] for name in KEY))
            .limit(limit)
            .cte("due")
        )
        statement = (
            update(REPLAYS)
            .where(*(REPLAYS.c[name] == due.c[name] for name in KEY))
            .values(
                state="claimed",
                owner=safe_text(owner),
                claimable_at=now + duration_micros(lease),
                token=REPLAYS.c.token + 1,
                attempts=REPLAYS.c.attempts + 1,
            )
            .returning(*REPLAYS.c)
        )
        found = self._write(lambda connection: [_replay(row) for row in connection.execute(statement)])
        return sorted(found, key=lambda one: (one.position, one.key))

    def owners(self, run_id: str) -> list[str]:
        """Who holds claims of the run."""
        held = and_(REPLAYS.c.run_id == run_id, REPLAYS.c.state == "claimed")
        query = select(REPLAYS.c.owner).where(held).distinct()
        return self._database.read(lambda connection: sorted(connection.execute(query).scalars()))

    def finish(self, replays: Sequence[Replay]) -> list[bool]:
        """Keep what came of claimed ones, all in one transaction. True for each whose token still counted."""
        now = to_micros(self._clock())

        def work(connection: Connection) -> list[bool]:
            return [
                connection.execute(update(REPLAYS).where(_held([one])).values(_result(one, now))).rowcount > 0
                for one in replays
            ]

        return self._write(work) if replays else []

    def of_run(self, run_id: str) -> list[Replay]:
        """All replays of a run, in their order."""
        query = select(REPLAYS).where(REPLAYS.c.run_id == run_id)
        query = query.order_by(REPLAYS.c.position, *(REPLAYS.c[name] for name in KEY))
        return self._database.read(lambda connection: [_replay(row) for row in connection.execute(query)])

    def of_trace(self, trace_id: str) -> list[Replay]:
        """The replays that made this trace: one, as a rule, or none."""
        query = select(REPLAYS).where(REPLAYS.c.trace_id == trace_id).order_by(REPLAYS.c.position)
        return self._database.read(lambda connection: [_replay(row) for row in connection.execute(query)])

    def counts(self, run_id: str) -> ReplayCounts:
        """How many of the run were answered, failed, or are not asked yet."""
        failed = REPLAYS.c.error.is_not(None).label("failed")
        unreached = REPLAYS.c.reason_code == Reason.NOT_APPLICABLE.value
        unasked = and_(REPLAYS.c.trace_id.is_(None), func.coalesce(unreached, False)).label("unasked")
        groups = (REPLAYS.c.state, failed, unasked)
        query = select(*groups, func.count()).where(REPLAYS.c.run_id == run_id).group_by(*groups)
        rows = self._database.read(lambda connection: connection.execute(query).all())
        done = [(bool(failed), bool(unasked), n) for state, failed, unasked, n in rows if state == "done"]
        return ReplayCounts(
            answered=sum(n for failed, unasked, n in done if not failed and not unasked),
            agent_errors=sum(n for failed, _, n in done if failed),
            waiting=sum(n for state, _, _, n in rows if state != "done"),
            unaskable=sum(n for failed, unasked, n in done if unasked and not failed),
        )


def _held(replays: Sequence[Replay]) -> ColumnElement[bool]:
    """The rows of ``replays`` that are still claimed with the token that each has."""
    wanted = [(*_key(one), one.token) for one in replays]
    return and_(
        REPLAYS.c.run_id.in_({one.run_id for one in replays}),
        REPLAYS.c.state == "claimed",
        tuple_(*(REPLAYS.c[name] for name in KEY), REPLAYS.c.token).in_(wanted),
    )


def _key(replay: Replay) -> tuple[str, str, str, str, str, int]:
    texts = (replay.run_id, replay.agent, replay.dataset, replay.case, replay.variant or "")
    run_id, agent, dataset, case, variant = map(safe_text, texts)
    return run_id, agent, dataset, case, variant, replay.repeat


def _row(replay: Replay) -> dict[str, Any]:
    return {
        **dict(zip(KEY, _key(replay), strict=True)),
        "position": replay.position,
        "noise_type": safe_text(replay.noise_type),
        "min_score": replay.min_score,
        "token": 0,
        "attempts": 0,
        "trace_id": None,
        "span_id": None,
        "answer": None,
        "error": None,
        "reason_code": None,
        "detail": "",
        "done_at": None,
        **PLANNED,
    }


def _result(replay: Replay, now: int) -> dict[str, Any]:
    return {
        "state": "done",
        "owner": None,
        "claimable_at": None,
        "trace_id": replay.trace_id,
        "span_id": replay.span_id,
        "answer": optional_text(replay.answer),
        "error": optional_text(replay.error),
        "reason_code": None if replay.reason is None else replay.reason.value,
        "detail": safe_text(replay.detail),
        "done_at": now,
    }


def _replay(row: Any) -> Replay:
    return Replay(
        run_id=row.run_id,
        agent=row.agent,
        dataset=row.dataset,
        case=row.case_id,
        variant=row.variant or None,
        repeat=row.repeat,
        noise_type=row.noise_type,
        position=row.position,
        min_score=None if row.min_score is None else float(row.min_score),
        state=row.state,
        token=row.token,
        attempts=row.attempts,
        owner=row.owner,
        trace_id=row.trace_id,
        span_id=row.span_id,
        answer=row.answer,
        error=row.error,
        reason=None if row.reason_code is None else Reason(row.reason_code),
        detail=row.detail,
    )
