"""Batching: a run's questions sent to the judge's provider as batches, remembered, and collected later.

Whatever is about to be sent is in the store before. Who finds there that something was begun, and not what
came of it, looks for it at the server before sending anything: so no question is ever in two batches.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import orjson

from tracehooks.judges.batch_api import (
    ENDPOINT,
    MOST_BYTES,
    MOST_REQUESTS,
    BatchApi,
    NoBatchApi,
    NoSuchBatch,
    RemoteBatch,
)
from tracehooks.judges.completions import CompletionFailed
from tracehooks.judges.posting import Letter, posting
from tracehooks.judges.prices import price_of
from tracehooks.scoring.batch_lines import Collected, collected, usage_of
from tracehooks.scoring.caching import caching
from tracehooks.scoring.coordinator import Coordinator, Tally
from tracehooks.scoring.letters import CALLS_AT_ONCE, Replies, gather
from tracehooks.scoring.spending import Spending
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store, WorkItem
from tracehooks.store.accounts import Hold, NoRoom
from tracehooks.store.batches import StoredBatch, StoredLetter
from tracehooks.store.encoding import chunks

logger = logging.getLogger("tracehooks")

LOOK = timedelta(seconds=60)  # between questions how a batch stands
# a submission that its process did not live to see the end of has arrived by then, or never will
ARRIVED = timedelta(seconds=90)
CANCELLED = timedelta(minutes=15)  # that a server may take to stop
KEPT = timedelta(days=2)  # that reservations last beyond the wait
UNKNOWN = "unknown"  # the status of a batch of which the server does not tell any more
LINE = 200  # bytes of a line beside the request


@dataclass(kw_only=True)
class Batching:
    """The batches of one run, whose plan says with ``batch_seconds`` how long it waits for them.

    ``coordinator`` judges what is left: the first call, so that how the server wants to be asked is known,
    and what no batch has answered. ``cache`` and ``reading`` are those of the run's memory of verdicts.
    ``first`` is what it took to judge that first call.
    """

    settings: Settings
    coordinator: Coordinator
    run: RunRecord
    clock: Callable[[], datetime]
    cache: bool = True
    reading: bool = True
    stage: Callable[[str], None] = lambda text: None
    first: Tally = field(default_factory=Tally)

    def waits(self) -> bool:
        """Bring the batches one step further. True while the run has to wait for them.

        Only the run's owner does anything; whoever helps waits for what comes of it.
        """
        if not self._is_batched:
            return False
        if self.run.owner == self.coordinator.owner:
            if not self._batches():
                if self._is_elsewhere():
                    return True  # the other run's results will be ours, too
                self._make_up()
                if self.first.stopped:
                    self.coordinator.stopped = self.first.stopped
                    return False
            asyncio.run(self._advance_all())
            self._settle()
        found = self._batches()
        return not found or not all(batch.is_over for batch in found)

    def replies(self) -> AbstractContextManager[None]:
        """Within it the judge's answers are those that the batches brought, where they did."""
        return posting(Replies(self._store, self.run.id) if self._is_batched else None)

    def close(self) -> None:
        """Forget the requests, once everything is judged."""
        if self._is_batched and not self._store.items.remaining(self.run.id):
            self._store.batches.drop_letters(self.run.id)

    @property
    def _store(self) -> Store:
        return self.coordinator.store

    @property
    def _is_batched(self) -> bool:
        """Whether it has to do with batches: also with those of before they were turned off."""
        return self._wait is not None or bool(self._batches())

    @property
    def _wait(self) -> timedelta | None:
        seconds = self.run.plan.get("batch_seconds")
        return None if seconds is None else timedelta(seconds=seconds)

    def _batches(self) -> list[StoredBatch]:
        return self._store.batches.of_run(self.run.id)

    @property
    def _judge(self) -> Any:
        return getattr(self.coordinator.scorer, "judge", None)

    @property
    def _api(self) -> BatchApi | None:
        make: Callable[[], BatchApi] | None = getattr(self._judge, "batch_api", None)
        return None if make is None else make()

    def _make_up(self) -> None:
        """Remember what is to be sent, before anything is."""
        letters = [] if self._api is None else self._questions()
        if self.first.stopped:
            return  # a batch would be turned down just so
        held: list[Hold] = []
        intended = False
        try:
            made_up = list(self._filled(letters, held)) or [(self._nothing(letters), [])]
            intended = self._store.batches.intend(made_up, self.coordinator.owner)
        finally:
            if not intended:  # it was broken off, or the run is another's now: nothing of it is sent
                self._store.accounts.release(held)

    def _nothing(self, letters: Sequence[Letter]) -> StoredBatch:
        """What is remembered where there is no batch."""
        why = "the budget had no room for it" if letters else "there was nothing to ask"
        why = "the judge has no Batch API" if self._api is None else why
        return replace(self._new(), state="over", detail=why)

    def _questions(self) -> list[Letter]:
        if not self._unjudged():
            return []
        self._ask_one()
        if self.first.stopped:
            return []
        items = self._unjudged()
        self.stage(f"making up a batch of {len(items):,} calls")
        scorer, prepare = self.coordinator.scorer, self.coordinator.prepare
        remembered = caching(
            self.settings, self._store, self.run, scorer, enabled=self.cache, reading=self.reading
        )
        with remembered:
            return gather(self._store, scorer, items, prepare)

    def _unjudged(self) -> list[WorkItem]:
        """The run's items whose calls nobody has judged since they were planned."""
        found: list[WorkItem] = []
        for items in chunks(self._store.items.of_run(self.run.id), CALLS_AT_ONCE):
            left = {item.ref: item for item in items if item.state != "done"}
            name = self.coordinator.scorer.name
            for score in self._store.scores.of_calls(list(left), name).values():
                if score.ref in left and score.entries > left[score.ref].seen:
                    del left[score.ref]
            found += left.values()
        return found

    def _is_elsewhere(self) -> bool:
        """Whether calls of the run are in a batch of another."""
        known = self._store.batches.elsewhere(self.run.id, self.clock() - CANCELLED)
        calls = {custom_id.rpartition("-")[0] for custom_id in known}
        return bool(calls) and any(f"{one.trace_id}-{one.span_id}" in calls for one in self._unjudged())

    def _ask_one(self) -> None:
        """Judge one call live: a batch in a form that the server does not take would fail as a whole."""
        done: list[int] = []
        halted = self.coordinator.halted
        first = replace(
            self.coordinator,
            concurrency=1,
            halted=lambda: bool(done) or halted(),
            progress=lambda tally, total: done.append(1),
        )
        self.first = asyncio.run(first.work(self.run.id))

    def _filled(
        self, letters: Sequence[Letter], held: list[Hold]
    ) -> Iterator[tuple[StoredBatch, list[StoredLetter]]]:
        """Batches of ``letters`` within the server's limits, as many as the budget has room for at once.

        The others are asked live, when it is known what these have used. What is reserved goes into ``held``.
        """
        batch, stored, size = self._new(), list[StoredLetter](), 0
        spending = self._spending()
        for letter in letters:
            content = orjson.dumps(letter.body, default=dict)
            hold = spending.hold(self._judge.need_of(letter.body, content), (self._wait or KEPT) + KEPT)
            if isinstance(hold, NoRoom):
                break
            held.append(hold)
            if len(stored) == MOST_REQUESTS or size + len(content) + LINE > MOST_BYTES:
                yield replace(batch, requests=len(stored)), stored
                batch, stored, size = self._new(), [], 0
            size += len(content) + LINE
            stored.append(
                StoredLetter(
                    custom_id=letter.custom_id,
                    question=letter.question,
                    nonce=letter.nonce,
                    body=content.decode(),
                    hold=hold,
                )
            )
        if stored:
            yield replace(batch, requests=len(stored)), stored

    def _new(self) -> StoredBatch:
        now = self.clock()
        due = now + (self._wait or KEPT)
        return StoredBatch(id=secrets.token_hex(16), run_id=self.run.id, intended_at=now, due=due)

    async def _advance_all(self) -> None:
        api = self._api
        for batch in self._batches():
            if batch.is_over:
                continue
            if api is None:
                self._end(batch, status=UNKNOWN, detail="the judge that was asked is not the judge any more")
            elif batch.state == "intended":
                await self._submit(batch, api)
            else:
                await self._look(batch, api)

    async def _submit(self, batch: StoredBatch, api: BatchApi) -> None:
        """Have the server make the batch, unless it has done so already."""
        now = self.clock()
        try:
            remote = await self._found(batch, api) if batch.tried_at else None
            if remote is None and now >= batch.due:
                self._end(batch, detail=batch.detail or "it could not be submitted in time")
                return
            if remote is None:
                if batch.tried_at and now < batch.tried_at + ARRIVED:
                    return
                if not self._update(batch, tried_at=now):
                    return  # the run is another's now
                remote = await self._sent(batch, api)
        except NoBatchApi as lack:
            self._end(batch, detail=f"no Batch API: {lack}")
        except CompletionFailed as failure:
            if failure.retry:
                self._put_off(batch, failure.detail)
            else:
                self._end(batch, status=UNKNOWN if batch.tried_at else None, detail=failure.detail)
        else:
            await self._remember(batch, remote, api)

    async def _remember(self, batch: StoredBatch, remote: RemoteBatch, api: BatchApi) -> None:
        """Note which batch it is at the server. One that nobody will look after is stopped."""
        if self._update(batch, state="submitted", remote_id=remote.id, status=remote.status, detail=""):
            return
        if all(known.remote_id != remote.id for known in self._batches()):
            with suppress(CompletionFailed, NoSuchBatch):
                await api.cancel(remote.id)

    async def _sent(self, batch: StoredBatch, api: BatchApi) -> RemoteBatch:
        letters = self._store.batches.letters(batch.id)
        self.stage(f"sending a batch of {len(letters):,} requests")
        content = b"".join(_line(letter) for letter in letters)
        try:
            return await api.submit(_name(batch), content, _marks(batch))
        except CompletionFailed as failure:
            if not failure.retry:
                raise
            with suppress(CompletionFailed):  # the answer may be lost of a request that was heard
                if remote := await self._found(batch, api):
                    return remote
            raise

    async def _found(self, batch: StoredBatch, api: BatchApi) -> RemoteBatch | None:
        """The batch at the server, if it was made."""
        since = batch.intended_at - timedelta(days=1)  # their clock is not ours
        found = await api.find(_name(batch), _marks(batch), since)
        for double in found[1:]:
            with suppress(CompletionFailed, NoSuchBatch):
                await api.cancel(double.id)
        return found[0] if found else None

    async def _look(self, batch: StoredBatch, api: BatchApi) -> None:
        """Ask how the batch stands; collect what it brought when it is over, stop it when it is due."""
        now, remote_id = self.clock(), batch.remote_id or ""
        try:
            remote = await api.get(remote_id)
            if not remote.is_over and now >= batch.due and batch.cancelled_at is None:
                self._update(batch, cancelled_at=now)
                with suppress(CompletionFailed):  # it may have come to its end this moment
                    await api.cancel(remote_id)
                remote = await api.get(remote_id)
            if remote.is_over:
                if self._collect(batch, remote, [await api.answers(file) for file in remote.files]):
                    await api.remove([remote.sent, *remote.files])
                return
            self._update(batch, looked_at=now, status=remote.status, detail="")
        except NoSuchBatch as lack:
            self._end(batch, status=UNKNOWN, detail=f"the batch is gone: {lack}")
            return
        except CompletionFailed as failure:
            self._put_off(batch, failure.detail, looked_at=now)
            return
        if now >= batch.due + CANCELLED:
            self._end(batch, status=UNKNOWN, detail=f"it was still {remote.status} when it was due")

    def _collect(self, batch: StoredBatch, remote: RemoteBatch, files: Sequence[Sequence[Any]]) -> bool:
        known = {letter.custom_id for letter in self._store.batches.letters(batch.id)}
        found: Collected = collected(known, (line for file in files for line in file))
        return self._end(
            batch,
            found.replies,
            status=remote.status,
            detail=remote.complaint,
            answered=found.answered,
            failed=len(found.replies) - found.answered,
            ignored=found.ignored,
            input_tokens=found.input_tokens,
            output_tokens=found.output_tokens,
        )

    def _put_off(self, batch: StoredBatch, why: str, **fields: Any) -> None:
        """It is tried again by whoever comes next, unless it is long due."""
        logger.warning("the batch of run %s has to wait: %s", batch.run_id, why)
        if self.clock() >= batch.due + CANCELLED:
            self._end(batch, status=UNKNOWN, detail=why)
        else:
            self._update(batch, detail=why, **fields)

    def _update(self, batch: StoredBatch, **fields: Any) -> bool:
        return self._store.batches.update(batch, self.coordinator.owner, **fields)

    def _end(
        self, batch: StoredBatch, replies: dict[str, tuple[int, str]] | None = None, **figures: Any
    ) -> bool:
        return self._store.batches.end(batch, self.coordinator.owner, replies, **figures)

    def _settle(self) -> None:
        """Charge what the batches used. A second time changes nothing: a reservation is settled once."""
        spending = self._spending()
        for batch, letters in self._store.batches.unsettled(self.run.id):
            unknown = batch.status == UNKNOWN
            settled = [
                (letter.hold, spending.used(letter.hold, usage_of(letter, unknown=unknown)))
                for letter in letters
                if letter.hold is not None
            ]
            for some in chunks(settled, CALLS_AT_ONCE):
                self._store.accounts.settle(some)
            self._store.batches.settle(batch.id)

    def _spending(self) -> Spending:
        price = price_of(getattr(self._judge, "model", None), self.settings.judge)
        return Spending(
            store=self._store,
            settings=self.settings,
            price=price and price.in_batch,
            run=self.run,
            clock=self.clock,
        )


def is_early(store: Store, run: RunRecord, now: datetime) -> bool:
    """Whether it is too early to ask again how the run's batches stand."""
    if not run.waiting:
        return False
    open_ones = [batch for batch in store.batches.of_run(run.id) if not batch.is_over]
    looks = [batch.looked_at or batch.tried_at or batch.intended_at for batch in open_ones]
    return bool(looks) and all(look <= now < look + LOOK for look in looks)


def _name(batch: StoredBatch) -> str:
    return f"tracehooks-{batch.id}.jsonl"


def _marks(batch: StoredBatch) -> dict[str, str]:
    return {"tracehooks_batch": batch.id, "tracehooks_run": batch.run_id}


def _line(letter: StoredLetter) -> bytes:
    """One request as a line of the file."""
    head = orjson.dumps({"custom_id": letter.custom_id, "method": "POST", "url": ENDPOINT})
    return head[:-1] + b',"body":' + letter.body.encode() + b"}\n"
