"""Stored accounts: what judges have used, and what requests under way can use at most.

Every request is reserved before it is sent, at the most that it can use, and settled afterwards with what it
did use. So an account never exceeds its limit, whoever sends, and whoever is killed while sending.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from sqlalchemy import (
    BigInteger,
    Connection,
    Text,
    Update,
    column,
    delete,
    func,
    insert,
    select,
    table,
    true,
    update,
)

from tracehooks.errors import StoreError
from tracehooks.store.database import Area, Database
from tracehooks.store.encoding import duration_micros, to_micros
from tracehooks.store.upserts import insert_missing

ACCOUNTS = table(
    "accounts",
    column("scope", Text),
    column("calls", BigInteger),
    column("input_tokens", BigInteger),
    column("output_tokens", BigInteger),
    column("nanos", BigInteger),
    column("held_tokens", BigInteger),
    column("held_nanos", BigInteger),
)
HOLDS = table(
    "holds",
    column("id", Text),
    column("scopes", Text),
    column("input_tokens", BigInteger),
    column("output_tokens", BigInteger),
    column("nanos", BigInteger),
    column("ends_at", BigInteger),
)
FIGURES = ("calls", "input_tokens", "output_tokens", "nanos", "held_tokens", "held_nanos")
BETWEEN = "\n"
SOON = timedelta(hours=1)  # in which a request under way is settled; what is held for longer is in a batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What was used: requests, tokens, and billionths of a dollar."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    nanos: int = 0

    @property
    def tokens(self) -> int:
        """Those in and out together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            nanos=self.nanos + other.nanos,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """The account ``scope`` and what it may reach at most; None is no limit."""

    scope: str
    calls: int | None = None
    tokens: int | None = None
    nanos: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A reservation of ``most`` on the accounts ``scopes``."""

    id: str
    scopes: tuple[str, ...]
    most: Spent


@dataclass(frozen=True, slots=True, kw_only=True)
class NoRoom:
    """There is no room for a request in the account ``scope``.

    ``for_now`` says that there may be once the requests under way have been settled. A batch takes hours, so
    what is held for it does not count as under way.
    """

    scope: str
    limit: Literal["calls", "tokens", "nanos"]
    for_now: bool


class Accounts:
    """What is used, by scope: a run, a day."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database, self._clock = database, clock

    def reserve(
        self,
        allowances: Sequence[Allowance],
        most: Spent,
        lasts: timedelta,
        settled: Sequence[tuple[Hold, Spent]] = (),
    ) -> Hold | NoRoom:
        """Settle what is ``settled``, and reserve ``most`` for one request on all accounts, or on none.

        What is not settled after ``lasts`` counts as used to the full: its holder is gone, or does not know.
        """
        hold = Hold(id=secrets.token_hex(16), scopes=tuple(each.scope for each in allowances), most=most)
        now = to_micros(self._clock())

        def work(connection: Connection) -> Hold | NoRoom:
            _settle(connection, settled)
            _charge_forgotten(connection, now)
            _open(connection, hold.scopes)
            for allowance in allowances:
                row = connection.execute(select(ACCOUNTS).where(ACCOUNTS.c.scope == allowance.scope)).one()
                if full := _why_full(row, allowance, most, _held_long(connection, allowance.scope, now)):
                    return full
            for allowance in allowances:
                _take(connection, allowance, most)
            connection.execute(insert(HOLDS), [_hold_row(hold, now + duration_micros(lasts))])
            return hold

        return self._database.write(Area.MONEY, work)

    def settle(self, settled: Sequence[tuple[Hold, Spent]]) -> None:
        """Replace reservations by what was used. One that has counted as used meanwhile stays so."""
        self._database.write(Area.MONEY, lambda connection: _settle(connection, settled))

    def release(self, holds: Sequence[Hold]) -> None:
        """Take reservations back of requests that were never sent, as if they had not been."""

        def work(connection: Connection) -> None:
            for hold in holds:
                if connection.execute(delete(HOLDS).where(HOLDS.c.id == hold.id)).rowcount:
                    connection.execute(_given_back(hold).values(calls=ACCOUNTS.c.calls - 1))

        self._database.write(Area.MONEY, work)

    def charge(self, scopes: Sequence[str], used: Spent) -> None:
        """Add what was used without a reservation."""

        def work(connection: Connection) -> None:
            _open(connection, scopes)
            statement = update(ACCOUNTS).where(ACCOUNTS.c.scope.in_(scopes))
            connection.execute(statement.values(calls=ACCOUNTS.c.calls + used.calls, **_more(used)))

        self._database.write(Area.MONEY, work)

    def spent(self, scope: str) -> Spent:
        """What was used in ``scope``, with what requests under way may use left out."""
        query = select(ACCOUNTS).where(ACCOUNTS.c.scope == scope)
        row = self._database.read(lambda connection: connection.execute(query).first())
        if row is None:
            return Spent()
        return Spent(
            calls=row.calls,
            input_tokens=row.input_tokens,
            output_tokens=row.output_tokens,
            nanos=row.nanos,
        )


def _open(connection: Connection, scopes: Sequence[str]) -> None:
    rows = [{"scope": scope, **dict.fromkeys(FIGURES, 0)} for scope in scopes]
    insert_missing(connection, ACCOUNTS, ("scope",), rows)


def _take(connection: Connection, allowance: Allowance, most: Spent) -> None:
    """Reserve in one account, by one conditional update: it holds even where a transaction were not alone."""
    now = ACCOUNTS.c
    tokens = now.input_tokens + now.output_tokens + now.held_tokens + most.tokens
    statement = update(ACCOUNTS).where(
        now.scope == allowance.scope,
        true() if allowance.calls is None else now.calls + 1 <= allowance.calls,
        true() if allowance.tokens is None else tokens <= allowance.tokens,
        true() if allowance.nanos is None else now.nanos + now.held_nanos + most.nanos <= allowance.nanos,
    )
    taken = connection.execute(
        statement.values(
            calls=now.calls + 1,
            held_tokens=now.held_tokens + most.tokens,
            held_nanos=now.held_nanos + most.nanos,
        )
    )
    if not taken.rowcount:
        raise StoreError(f"the account {allowance.scope} changed while a request was reserved; try again")


def _held_long(connection: Connection, scope: str, now: int) -> Callable[[], tuple[int, int]]:
    """The tokens and nanos of ``scope`` that are held for batches, read when somebody wants to know."""
    tokens = func.coalesce(func.sum(HOLDS.c.input_tokens + HOLDS.c.output_tokens), 0)
    query = select(tokens, func.coalesce(func.sum(HOLDS.c.nanos), 0)).where(
        HOLDS.c.ends_at > now + duration_micros(SOON), HOLDS.c.scopes.contains(scope, autoescape=True)
    )

    def read() -> tuple[int, int]:
        held_tokens, held_nanos = connection.execute(query).one()
        return int(held_tokens), int(held_nanos)

    return read


def _why_full(
    row: Any, allowance: Allowance, most: Spent, held_long: Callable[[], tuple[int, int]]
) -> NoRoom | None:
    tokens, nanos = row.input_tokens + row.output_tokens + most.tokens, row.nanos + most.nanos
    if allowance.calls is not None and row.calls + 1 > allowance.calls:
        return NoRoom(scope=allowance.scope, limit="calls", for_now=False)
    if allowance.tokens is not None and tokens + row.held_tokens > allowance.tokens:
        for_now = tokens + held_long()[0] <= allowance.tokens
        return NoRoom(scope=allowance.scope, limit="tokens", for_now=for_now)
    if allowance.nanos is not None and nanos + row.held_nanos > allowance.nanos:
        for_now = nanos + held_long()[1] <= allowance.nanos
        return NoRoom(scope=allowance.scope, limit="nanos", for_now=for_now)
    return None


def _charge_forgotten(connection: Connection, now: int) -> None:
    """Count as used what was reserved by those who never came back."""
    for row in connection.execute(select(HOLDS).where(HOLDS.c.ends_at < now)).all():
        most = Spent(input_tokens=row.input_tokens, output_tokens=row.output_tokens, nanos=row.nanos)
        _settle(connection, [(Hold(id=row.id, scopes=tuple(row.scopes.split(BETWEEN)), most=most), most)])


def _settle(connection: Connection, settled: Sequence[tuple[Hold, Spent]]) -> None:
    for hold, used in settled:
        if connection.execute(delete(HOLDS).where(HOLDS.c.id == hold.id)).rowcount:
            connection.execute(_given_back(hold).values(**_more(used)))


def _given_back(hold: Hold) -> Update:
    return (
        update(ACCOUNTS)
        .where(ACCOUNTS.c.scope.in_(hold.scopes))
        .values(
            held_tokens=ACCOUNTS.c.held_tokens - hold.most.tokens,
            held_nanos=ACCOUNTS.c.held_nanos - hold.most.nanos,
        )
    )


def _more(used: Spent) -> dict[str, Any]:
    return {
        name: ACCOUNTS.c[name] + getattr(used, name) for name in ("input_tokens", "output_tokens", "nanos")
    }


def _hold_row(hold: Hold, ends_at: int) -> dict[str, Any]:
    return {
        "id": hold.id,
        "scopes": BETWEEN.join(hold.scopes),
        "input_tokens": hold.most.input_tokens,
        "output_tokens": hold.most.output_tokens,
        "nanos": hold.most.nanos,
        "ends_at": ends_at,
    }
