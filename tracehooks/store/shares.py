"""Stored shares: how the judges' requests of a store are divided among all that send, on any host.

Each sender says every second or so that it is there, and is told what it may do until it lapses: so many
requests at once, and a part of what goes out in a minute. One that says nothing more gives all of it back.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, Connection, Float, Text, column, delete, select, table

from tracehooks.judges.sharing import News, Share
from tracehooks.store.database import Area, Database
from tracehooks.store.encoding import duration_micros, to_micros
from tracehooks.store.upserts import insert_missing, upsert

PACES = table(
    "paces",
    column("judge", Text),
    column("allowed", BigInteger),
    column("answers", BigInteger),
    column("cut_at", BigInteger),
    column("held_until", BigInteger),
)
SHARES = table(
    "shares",
    column("judge", Text),
    column("sender", Text),
    column("wanted", BigInteger),
    column("places", BigInteger),
    column("part", Float),
    column("ends_at", BigInteger),
)
LASTS = timedelta(seconds=15)
AHEAD = timedelta(minutes=10)  # later than that only a clock notes anything that was set back since
TURN_MICROS = 5_000_000  # after which the place that does not divide goes to another sender


class Shares:
    """The shares of all senders, by judge: a server and a model."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database, self._clock = database, clock

    def renew(self, judge: str, sender: str, news: News) -> Share:
        """Tell ``news``, and have a share for 15 seconds. All shares together never exceed what is allowed.

        One that must shrink does so as its requests come back; others get what it leaves when they ask again.
        """

        def work(connection: Connection) -> Share:
            now = to_micros(self._clock())
            pace = _paced(connection, judge, news, now)
            ahead = now + duration_micros(AHEAD)
            connection.execute(delete(SHARES).where(~SHARES.c.ends_at.between(now, ahead)))
            rows = connection.execute(select(SHARES).where(SHARES.c.judge == judge)).all()
            others = [row for row in rows if row.sender != sender]
            share = _share(sender, news, others, pace, now)
            row = {
                "judge": judge,
                "sender": sender,
                "wanted": news.wanted,
                "places": max(share.places, news.under_way),
                "part": share.part,
                "ends_at": now + duration_micros(LASTS),
            }
            upsert(connection, SHARES, ("judge", "sender"), [row])
            return share

        return self._database.write(Area.MONEY, work)

    def leave(self, judge: str, sender: str) -> None:
        """Give a share back."""
        mine = delete(SHARES).where(SHARES.c.judge == judge, SHARES.c.sender == sender)
        self._database.write(Area.MONEY, lambda connection: connection.execute(mine))


@dataclass(slots=True)
class _Pace:
    """What all senders together may do. ``allowed`` is 0 while nothing was cut."""

    allowed: int
    answers: int
    cut_at: int
    held_until: int

    def hear(self, news: News, now: int) -> None:
        """Halve after a 429, once for a wave of them; grow by one after as many answers as are allowed."""
        if max(self.cut_at, self.held_until) > now + duration_micros(AHEAD):
            self.cut_at = self.held_until = 0
        allowed = min(self.allowed or news.most, news.most)
        self.answers += news.answered
        while self.answers >= allowed and allowed < news.most:
            self.answers -= allowed
            allowed += 1
        if news.limited is not None:
            self.answers = 0
            self.held_until = max(self.held_until, now + int(news.wait * 1e6))
            if now - int(news.limited * 1e6) > self.cut_at:
                self.cut_at, allowed = now, max(1, allowed // 2)
        full = allowed >= news.most
        self.allowed, self.answers = (0, 0) if full else (allowed, self.answers)


def _paced(connection: Connection, judge: str, news: News, now: int) -> _Pace:
    blank = {"judge": judge, "allowed": 0, "answers": 0, "cut_at": 0, "held_until": 0}
    insert_missing(connection, PACES, ("judge",), [blank])
    row = connection.execute(select(PACES).where(PACES.c.judge == judge)).one()
    before = row.allowed, row.answers, row.cut_at, row.held_until
    pace = _Pace(*before)
    pace.hear(news, now)
    after = pace.allowed, pace.answers, pace.cut_at, pace.held_until
    if after != before:
        fields = dict(zip(("allowed", "answers", "cut_at", "held_until"), after, strict=True))
        upsert(connection, PACES, ("judge",), [{"judge": judge, **fields}])
    return pace


def _share(sender: str, news: News, others: Sequence[Any], pace: _Pace, now: int) -> Share:
    allowed = min(pace.allowed or news.most, news.most)
    wanted = {row.sender: row.wanted for row in others} | {sender: news.wanted}
    fair = fair_places(wanted, allowed, now // TURN_MICROS)
    free = allowed - sum(row.places for row in others)
    left = 1 - sum(row.part for row in others)
    due = fair[sender] / (sum(fair.values()) or 1)
    return Share(
        places=max(0, min(fair[sender], free)),
        part=max(0.0, min(due, left)),
        allowed=allowed,
        held=max(0, pace.held_until - now) / 1e6,
        short=free < fair[sender] or left < due - 1e-9,
        lasts=LASTS.total_seconds(),
    )


def fair_places(wanted: dict[str, int], places: int, turn: int = 0) -> dict[str, int]:
    """``places`` divided: nobody gets more than it wants, nor more than another who wants as much.

    What does not divide goes to each in turn.
    """
    found = dict.fromkeys(wanted, 0)
    names = sorted(wanted)
    names = names[turn % len(names) :] + names[: turn % len(names)]
    while places > 0 and (hungry := [name for name in names if found[name] < wanted[name]]):
        each = places // len(hungry)
        for name in hungry:
            more = min(max(each, 1), wanted[name] - found[name], places)
            found[name] += more
            places -= more
    return found
