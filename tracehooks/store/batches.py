"""Stored batches: questions that a run put into a provider's batch, remembered before anything is sent.

Every write is the run's owner's only: who lost the run to another process changes nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import (
    BigInteger,
    Connection,
    SmallInteger,
    Text,
    bindparam,
    column,
    delete,
    exists,
    insert,
    select,
    table,
    update,
)

from tracehooks.store.accounts import Hold, Spent
from tracehooks.store.database import Area, Database
from tracehooks.store.encoding import chunks, from_json, from_micros, safe_text, to_json, to_micros
from tracehooks.store.runs import RUNS

BATCHES = table(
    "batches",
    column("id", Text),
    column("run_id", Text),
    column("state", Text),
    column("requests", BigInteger),
    column("intended_at", BigInteger),
    column("due", BigInteger),
    column("tried_at", BigInteger),
    column("looked_at", BigInteger),
    column("cancelled_at", BigInteger),
    column("remote_id", Text),
    column("status", Text),
    column("detail", Text),
    column("answered", BigInteger),
    column("failed", BigInteger),
    column("ignored", BigInteger),
    column("input_tokens", BigInteger),
    column("output_tokens", BigInteger),
)
LETTERS = table(
    "letters",
    column("batch_id", Text),
    column("custom_id", Text),
    column("run_id", Text),
    column("question", Text),
    column("nonce", Text),
    column("body", Text),
    column("hold", Text),
    column("settled", SmallInteger),
    column("status", BigInteger),
    column("reply", Text),
)
ANSWERING = (
    update(LETTERS)
    .where(LETTERS.c.batch_id == bindparam("of"), LETTERS.c.custom_id == bindparam("name"))
    .values(status=bindparam("was"), reply=bindparam("said"))
)
AT_ONCE = 500
TIMES = frozenset({"intended_at", "due", "tried_at", "looked_at", "cancelled_at"})

BatchState = Literal["intended", "submitted", "over"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBatch:
    """One batch of a run; no more comes of one that is ``over``, and ``detail`` says why that is not all.

    ``due`` is when the run waits no longer. ``tried_at`` is when it was last begun to be submitted,
    ``looked_at`` when the server was last asked how it stands, ``status`` what it said. ``answered`` and
    ``failed`` count the requests that came back, ``ignored`` the lines that belong to none.
    """

    id: str
    run_id: str
    state: BatchState = "intended"
    requests: int = 0
    intended_at: datetime
    due: datetime
    tried_at: datetime | None = None
    looked_at: datetime | None = None
    cancelled_at: datetime | None = None
    remote_id: str | None = None
    status: str | None = None
    detail: str = ""
    answered: int = 0
    failed: int = 0
    ignored: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes of it."""
        return self.state == "over"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLetter:
    """One request of a batch: ``body`` as JSON text, ``hold`` what is reserved for it.

    ``status`` and ``reply``, the HTTP status and the body as JSON text, are None until it is answered.
    """

    custom_id: str
    question: str
    nonce: str
    body: str
    hold: Hold | None = None
    status: int | None = None
    reply: str | None = None


class Batches:
    """The batches of runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of_run(self, run_id: str) -> list[StoredBatch]:
        """The run's batches, in the order in which they were made up."""
        query = (
            select(BATCHES).where(BATCHES.c.run_id == run_id).order_by(BATCHES.c.intended_at, BATCHES.c.id)
        )
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return [_batch(row) for row in rows]

    def intend(self, made_up: Sequence[tuple[StoredBatch, Sequence[StoredLetter]]], owner: str) -> bool:
        """Remember batches of one run before anything of them is sent, all or none.

        False when the run is not ``owner``'s any more, or has batches already.
        """
        run_id = made_up[0][0].run_id

        def work(connection: Connection) -> bool:
            if not _owns(connection, run_id, owner):
                return False
            if connection.execute(select(BATCHES.c.id).where(BATCHES.c.run_id == run_id)).first():
                return False
            for batch, letters in made_up:
                connection.execute(insert(BATCHES), [_row(batch)])
                for chunk in chunks(letters, AT_ONCE):
                    connection.execute(insert(LETTERS), [_letter_row(batch, letter) for letter in chunk])
            return True

        return self._database.write(Area.WORK, work)

    def update(self, batch: StoredBatch, owner: str, **fields: Any) -> bool:
        """Set fields of a batch that is not over. False when that is not ``owner``'s to do."""
        values = {name: _encoded(name, value) for name, value in fields.items()}

        def work(connection: Connection) -> bool:
            changed = update(BATCHES).where(BATCHES.c.id == batch.id, BATCHES.c.state != "over")
            mine = _owns(connection, batch.run_id, owner)
            return mine and connection.execute(changed.values(values)).rowcount > 0

        return self._database.write(Area.WORK, work)

    def end(
        self,
        batch: StoredBatch,
        owner: str,
        replies: Mapping[str, tuple[int, str]] | None = None,
        **figures: Any,
    ) -> bool:
        """Keep what the batch brought, (status, body) by custom id, and close it; at once, and only once."""
        values = {name: _encoded(name, value) for name, value in figures.items()}
        closing = update(BATCHES).where(BATCHES.c.id == batch.id, BATCHES.c.state != "over")

        def work(connection: Connection) -> bool:
            if not _owns(connection, batch.run_id, owner):
                return False
            if not connection.execute(closing.values(state="over", **values)).rowcount:
                return False
            for custom_id, (status, reply) in (replies or {}).items():
                mine = update(LETTERS).where(LETTERS.c.batch_id == batch.id, LETTERS.c.custom_id == custom_id)
                connection.execute(mine.values(status=status, reply=safe_text(reply)))
            return True

        return self._database.write(Area.WORK, work)

    def letters(self, batch_id: str) -> list[StoredLetter]:
        """All requests of a batch, in the order of their custom ids."""
        query = select(LETTERS).where(LETTERS.c.batch_id == batch_id).order_by(LETTERS.c.custom_id)
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return [_letter(row) for row in rows]

    def answered(self, run_id: str, custom_id: str) -> StoredLetter | None:
        """The request of the run with this custom id, once its answer is there."""
        query = select(LETTERS).where(LETTERS.c.run_id == run_id, LETTERS.c.custom_id == custom_id)
        query = query.where(LETTERS.c.status.is_not(None))
        row = self._database.read(lambda connection: connection.execute(query).first())
        return None if row is None else _letter(row)

    def elsewhere(self, run_id: str, due_after: datetime) -> set[str]:
        """The custom ids of what other runs have in batches, or have of them and have not judged yet.

        A batch that was due before ``due_after`` does not count: nobody looks after it.
        """
        query = (
            select(LETTERS.c.custom_id)
            .join_from(LETTERS, BATCHES, LETTERS.c.batch_id == BATCHES.c.id)
            .join(RUNS, RUNS.c.id == BATCHES.c.run_id)
            .where(BATCHES.c.run_id != run_id, BATCHES.c.due > to_micros(due_after))
            .where(RUNS.c.state.in_(["running", "interrupted"]))
        )
        return self._database.read(lambda connection: set(connection.execute(query).scalars()))

    def unsettled(self, run_id: str) -> list[tuple[StoredBatch, list[StoredLetter]]]:
        """The run's batches that are over, with their requests whose reservations are not settled."""
        over = [batch for batch in self.of_run(run_id) if batch.is_over]
        query = select(LETTERS).where(LETTERS.c.run_id == run_id, LETTERS.c.settled == 0)
        rows = self._database.read(lambda connection: connection.execute(query).all())
        found = [(batch, [_letter(row) for row in rows if row.batch_id == batch.id]) for batch in over]
        return [(batch, letters) for batch, letters in found if letters]

    def settle(self, batch_id: str) -> None:
        """Note that the reservations of a batch have been settled."""
        statement = update(LETTERS).where(LETTERS.c.batch_id == batch_id).values(settled=1)
        self._database.write(Area.WORK, lambda connection: connection.execute(statement))

    def forget(self, run_id: str) -> None:
        """Forget the run's batches, where all of them are over, so that it may make up new ones."""

        def work(connection: Connection) -> None:
            open_ones = select(BATCHES.c.id).where(BATCHES.c.run_id == run_id, BATCHES.c.state != "over")
            if connection.execute(open_ones).first() is None:
                connection.execute(delete(LETTERS).where(LETTERS.c.run_id == run_id))
                connection.execute(delete(BATCHES).where(BATCHES.c.run_id == run_id))

        self._database.write(Area.WORK, work)

    def drop_letters(self, run_id: str) -> None:
        """Forget the run's requests and what they brought: its scores have it all."""
        statement = delete(LETTERS).where(LETTERS.c.run_id == run_id, LETTERS.c.settled == 1)
        self._database.write(Area.WORK, lambda connection: connection.execute(statement))


def _owns(connection: Connection, run_id: str, owner: str) -> bool:
    mine = exists().where(RUNS.c.id == run_id, RUNS.c.owner == owner, RUNS.c.state == "running")
    return bool(connection.execute(select(mine)).scalar())


def _encoded(name: str, value: Any) -> Any:
    if name in TIMES:
        return None if value is None else to_micros(value)
    return safe_text(value) if isinstance(value, str) else value


def _decoded(name: str, value: Any) -> Any:
    return from_micros(value) if name in TIMES and value is not None else value


def _row(batch: StoredBatch) -> dict[str, Any]:
    return {each.name: _encoded(each.name, getattr(batch, each.name)) for each in BATCHES.columns}


def _batch(row: Any) -> StoredBatch:
    values = dict(row._mapping)
    return StoredBatch(**{name: _decoded(name, value) for name, value in values.items()})


def _letter_row(batch: StoredBatch, letter: StoredLetter) -> dict[str, Any]:
    hold = letter.hold
    return {
        "batch_id": batch.id,
        "custom_id": letter.custom_id,
        "run_id": batch.run_id,
        "question": letter.question,
        "nonce": letter.nonce,
        "body": safe_text(letter.body),
        "hold": None if hold is None else to_json(_hold_dict(hold)),
        "settled": int(hold is None),
        "status": letter.status,
        "reply": letter.reply,
    }


def _letter(row: Any) -> StoredLetter:
    return StoredLetter(
        custom_id=row.custom_id,
        question=row.question,
        nonce=row.nonce,
        body=row.body,
        hold=None if row.hold is None else _hold(from_json(row.hold)),
        status=row.status,
        reply=row.reply,
    )


def _hold_dict(hold: Hold) -> dict[str, Any]:
    most = hold.most
    figures = [most.calls, most.input_tokens, most.output_tokens, most.nanos]
    return {"id": hold.id, "scopes": list(hold.scopes), "most": figures}


def _hold(found: Mapping[str, Any]) -> Hold:
    calls, tokens_in, tokens_out, nanos = found["most"]
    most = Spent(calls=calls, input_tokens=tokens_in, output_tokens=tokens_out, nanos=nanos)
    return Hold(id=found["id"], scopes=tuple(found["scopes"]), most=most)
