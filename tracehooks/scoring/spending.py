"""Spending: the terms under which a run's judge sends, as the budget has them, kept in the store."""

import asyncio
import logging
import operator
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import reduce
from typing import TYPE_CHECKING, Any

from tracehooks.errors import ConfigurationError, StoreError
from tracehooks.judges.completions import CompletionFailed
from tracehooks.judges.prices import DOLLAR, Price, price_of
from tracehooks.judges.sharing import Sharing
from tracehooks.judges.terms import Need, under
from tracehooks.protocols import Usage
from tracehooks.records import Reason
from tracehooks.settings import AllowanceSettings, Settings

if TYPE_CHECKING:
    from tracehooks.store import RunRecord, Store
    from tracehooks.store.accounts import Allowance, Hold, NoRoom, Spent

logger = logging.getLogger("tracehooks")

LOOK_SECONDS = 0.1  # between looks whether requests under way have left something
WRITE_SECONDS = 5.0  # between writes of what is only counted
SPARE_SECONDS = 30.0  # that a request may be late to be settled, at a busy machine


@dataclass(slots=True, kw_only=True)
class Spending:
    """Reserves every request on the accounts of its run, if it is of one, and of its day, before it is sent.

    While requests under way hold what is left, it waits for them to be settled; they use less than they hold.
    Without a budget nothing is reserved, only counted. What is settled goes to the store with the next
    reservation, or soon; :meth:`close` brings the rest.
    """

    store: "Store"
    settings: Settings
    price: Price | None
    run: "RunRecord | None"
    clock: Callable[[], datetime]
    _settled: "list[tuple[Hold, Spent]]" = field(default_factory=list)
    _counted: "list[Spent]" = field(default_factory=list)
    _under_way: int = 0
    _writing: threading.Lock = field(default_factory=threading.Lock)
    _written: float = field(default_factory=time.monotonic)

    @property
    def sharing(self) -> Sharing:
        """All that judges of this store send goes out under one limit."""
        return self.store.shares

    async def reserve(self, need: Need) -> "Hold | None":
        """A reservation for one request. Raises CompletionFailed when the budget has no room for it."""
        from tracehooks.store.accounts import NoRoom

        if self._is_open:
            return None
        most = self._spent(need.input_tokens, self._most_output(need))
        lasts = timedelta(seconds=need.seconds + SPARE_SECONDS)
        while True:
            settled, self._settled = self._settled, []
            try:
                found = await self._reserved(self._allowances(), most, lasts, settled)
            except BaseException:  # what was settled comes with the next; a second time changes nothing
                self._settled = settled + self._settled
                raise
            if not isinstance(found, NoRoom):
                self._under_way += 1
                return found
            if not found.for_now:
                raise CompletionFailed(Reason.OVER_BUDGET, self._why(found), attempts=0)
            await asyncio.sleep(LOOK_SECONDS * (1 + random.random()))

    def hold(self, need: Need, lasts: timedelta) -> "Hold | NoRoom":
        """A reservation for one request at once or not at all, with or without a budget, to be settled later.

        Whoever settles it, in whichever process, does so on the accounts; only the first time counts.
        """
        most = self._spent(need.input_tokens, self._most_output(need))
        return self.store.accounts.reserve(self._allowances(), most, lasts)

    def used(self, hold: "Hold", used: Usage) -> "Spent":
        """What a reserved request used; a count that nobody knows stands as it was reserved."""
        most = hold.most
        tokens_in = most.input_tokens if used.input_tokens is None else used.input_tokens
        tokens_out = most.output_tokens if used.output_tokens is None else used.output_tokens
        return self._spent(tokens_in, tokens_out)

    def settle(self, ticket: "Hold | None", used: Usage) -> None:
        """Charge what was used; a count that nobody knows is charged as it was reserved."""
        if ticket is None:
            self._counted.append(self._spent(used.input_tokens or 0, used.output_tokens or 0))
        else:
            self._settled.append((ticket, self.used(ticket, used)))
            self._under_way -= 1
        if (not self._under_way and self._settled) or self._is_late:
            self._bring()  # others may wait for what this leaves them

    async def _reserved(
        self,
        allowances: "Sequence[Allowance]",
        most: "Spent",
        lasts: timedelta,
        settled: "Sequence[tuple[Hold, Spent]]",
    ) -> "Hold | NoRoom":
        return self.store.accounts.reserve(allowances, most, lasts, settled)

    def _bring(self) -> None:
        try:
            self.close()
        except StoreError as error:  # it comes with the next; an answer that was paid for is not lost
            logger.warning("what the judge used could not be written down yet: %s", error)

    def close(self) -> None:
        """Bring to the store what it does not have yet."""
        with self._writing:  # who closes waits for what another thread is writing down
            settled, counted = self._settled, self._counted
            self._settled, self._counted = [], []
            self._written = time.monotonic()
            try:
                if settled:
                    self.store.accounts.settle(settled)
                if counted:
                    self.store.accounts.charge(self._scopes(), reduce(operator.add, counted))
            except StoreError:
                self._settled, self._counted = settled + self._settled, counted + self._counted
                raise

    @property
    def _is_open(self) -> bool:
        return self.settings.budget.day.is_open and (self.run is None or self.settings.budget.run.is_open)

    @property
    def _is_late(self) -> bool:
        return time.monotonic() - self._written > (WRITE_SECONDS if self._is_open else LOOK_SECONDS)

    def _scopes(self) -> tuple[str, ...]:
        day = day_scope(self.clock())
        return (day,) if self.run is None else (run_scope(self.run), day)

    def _spent(self, tokens_in: int, tokens_out: int) -> "Spent":
        from tracehooks.store.accounts import Spent

        nanos = self.price.nanos(tokens_in, tokens_out) if self.price else 0
        return Spent(calls=1, input_tokens=tokens_in, output_tokens=tokens_out, nanos=nanos)

    def _most_output(self, need: Need) -> int:
        if need.output_tokens is not None:
            return need.output_tokens
        return (self.price.max_output_tokens if self.price else None) or 0

    def _allowances(self) -> "list[Allowance]":
        budget = self.settings.budget
        limits = (budget.day,) if self.run is None else (budget.run, budget.day)
        return [_allowance(scope, limit) for scope, limit in zip(self._scopes(), limits, strict=True)]

    def _why(self, found: "NoRoom") -> str:
        period = found.scope.partition(":")[0]
        key = f"budget.{period}.{'dollars' if found.limit == 'nanos' else found.limit}"
        limit = getattr(getattr(self.settings.budget, period), key.rpartition(".")[2])
        return f"the budget was spent before this request: {key} is {limit:g}"


def run_scope(run: "RunRecord") -> str:
    """The account of a run: one window of a job, however often it is worked on."""
    return f"run:{run.id}"


def day_scope(moment: datetime) -> str:
    """The account of all that judges are asked in a day, in UTC."""
    return f"day:{moment:%Y-%m-%d}"


def check_budget(settings: Settings, scorer: Any) -> None:
    """Raise ConfigurationError when the budget cannot be kept with this scorer's judge, naming the key."""
    check_judge(settings, getattr(scorer, "judge", None))


def check_judge(settings: Settings, judge: Any) -> None:
    """The same of a judge by itself; None needs no budget."""
    limits = {"run": settings.budget.run, "day": settings.budget.day}
    if judge is None or all(limit.is_open for limit in limits.values()):
        return
    if not getattr(judge, "metered", False):
        raise ConfigurationError(
            f"budget: {type(judge).__name__} does not say what it uses, so no budget can be kept; "
            "judge with OpenAIJudge, or leave budget out"
        )
    price = price_of(judge.model, settings.judge)
    for period, limit in limits.items():
        if limit.dollars is not None and price is None:
            raise ConfigurationError(
                f"budget.{period}.dollars is set, but no price is known for judge.model {judge.model!r}; "
                "set judge.price: {input: ..., output: ...}, in dollars for a million tokens"
            )
    counted = any(limit.dollars is not None or limit.tokens is not None for limit in limits.values())
    if counted and judge.max_output_tokens is None and (price is None or price.max_output_tokens is None):
        raise ConfigurationError(
            f"budget: nothing says how long a reply of judge.model {judge.model!r} can be; "
            "set judge.max_output_tokens"
        )
    longest = judge.max_output_tokens or (price.max_output_tokens if price else None) or 0
    for period, limit in limits.items():
        _check_room(period, limit, price, longest)


def _check_room(period: str, limit: AllowanceSettings, price: Price | None, longest: int) -> None:
    """Refuse a budget that not even one request fits into, so that nothing could ever be asked."""
    remedy = f"as long as {longest:,} tokens are allowed; set judge.max_output_tokens, or raise it"
    if limit.dollars and price and price.nanos(0, longest) > limit.dollars * DOLLAR:
        dearest = price.nanos(0, longest) / DOLLAR
        raise ConfigurationError(
            f"budget.{period}.dollars is {limit.dollars:g}, and one reply can cost {dearest:g} {remedy}"
        )
    if limit.tokens and longest > limit.tokens:
        raise ConfigurationError(f"budget.{period}.tokens is {limit.tokens}, too few for one reply {remedy}")


@contextmanager
def spending(
    settings: Settings, store: "Store", run: "RunRecord", scorer: Any, clock: Callable[[], datetime]
) -> Iterator[None]:
    """Within it the run's judge spends by the budget, and what it used is counted.

    A scorer that asks no judge, or one that is not metered, goes as it is.
    """
    with _spending(settings, store, getattr(scorer, "judge", None), clock, run):
        yield


@contextmanager
def spending_by_the_day(
    settings: Settings, store: "Store", judge: Any, clock: Callable[[], datetime]
) -> Iterator[None]:
    """The same for a judge that is asked outside of any run: it has what is left of the day's budget.

    Raises ConfigurationError when the budget cannot be kept with it.
    """
    check_judge(settings, judge)
    with _spending(settings, store, judge, clock, None):
        yield


@contextmanager
def _spending(
    settings: Settings, store: "Store", judge: Any, clock: Callable[[], datetime], run: "RunRecord | None"
) -> Iterator[None]:
    if not getattr(judge, "metered", False):
        yield
        return
    price = price_of(judge.model, settings.judge)
    terms = Spending(store=store, settings=settings, price=price, run=run, clock=clock)
    try:
        with under(terms):
            yield
    finally:
        terms.close()


def spent_dict(settings: Settings, store: "Store", run: "RunRecord") -> dict[str, Any] | None:
    """What a run has used, for its report; None when it sent nothing. Dollars only where there is a price."""
    spent = store.accounts.spent(run_scope(run))
    if not spent.calls:
        return None
    price = price_of(run.plan.get("judge_model"), settings.judge)
    return {
        "calls": spent.calls,
        "input_tokens": spent.input_tokens,
        "output_tokens": spent.output_tokens,
        "dollars": None if price is None else spent.nanos / DOLLAR,
        "price": None if price is None else price.source,
        "budget": _limits_dict(settings.budget.run),
    }


def budget_reasons(unscored: Mapping[str, int]) -> tuple[str, ...]:
    """What to say of the calls that the budget cut, if it did."""
    cut = unscored.get(Reason.OVER_BUDGET.value, 0)
    if not cut:
        return ()
    return (f"budget: {cut:,} calls were not judged, because the budget was spent",)


def _limits_dict(limit: AllowanceSettings) -> dict[str, Any] | None:
    return None if limit.is_open else limit.model_dump(exclude_none=True)


def _allowance(scope: str, limit: AllowanceSettings) -> "Allowance":
    from tracehooks.store.accounts import Allowance

    nanos = None if limit.dollars is None else int(limit.dollars * DOLLAR)
    return Allowance(scope=scope, calls=limit.calls, tokens=limit.tokens, nanos=nanos)
