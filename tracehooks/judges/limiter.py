"""Limiter: how many requests may be under way, and how soon the next may go out, on one event loop."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

Sleep = Callable[[float], Awaitable[None]]


class Pace:
    """An even pace of so many units a minute: each waits until those before it have had their time.

    So in no minute there are more than ``per_minute``, and none of them come in bursts. ``clock`` is in
    seconds.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._whole = self._each = 60 / per_minute
        self._clock = clock
        self._free_at = clock()

    def take(self, units: int) -> float:
        """Take ``units``; returns the seconds to wait before they may be used."""
        now = self._clock()
        start = max(self._free_at, now)
        self._free_at = start + units * self._each
        return start - now

    def share(self, part: float) -> None:
        """From now on go at a ``part`` of the pace; the others go at the rest of it."""
        self._each = self._whole / part

    def correct(self, units: int) -> None:
        """Take ``units`` more, or give so many back where it is below 0, without waiting."""
        self._free_at += units * self._each


@dataclass(slots=True, eq=False)
class Turn:
    """One request's turn, from when it ``began``. ``used`` is how many tokens it took, if that is known."""

    number: int
    began: float
    used: int | None = None


class Slots:
    """So many places, first come, first served; their number may change while they are taken."""

    def __init__(self, number: int) -> None:
        self.taken = 0  # those handed to somebody who has yet to hear of it among them
        self._free = number
        self._owed = 0  # places to be taken out as they come free
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self) -> None:
        """A place, as soon as there is one."""
        if self._free and not self._waiting:
            self._free -= 1
            self.taken += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back()
            raise

    def give_back(self) -> None:
        """Give a place back that was taken."""
        self.taken -= 1
        self.add()

    def add(self) -> None:
        """Have one place more, for the next who waits if somebody does."""
        if self._owed:
            self._owed -= 1
            return
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                self.taken += 1
                turn.set_result(None)
                return
        self._free += 1

    def take_out(self, number: int) -> None:
        """Have so many places fewer: free ones at once, others as they come free."""
        free = min(self._free, number)
        self._free -= free
        self._owed += number - free


class Limiter:
    """At most ``most`` requests at once, fewer while a server says that they are too many.

    After a 429 half as many; after as many answers as may be under way, one more again, up to ``most``. What
    a server asks to wait holds back every request, not only the one it was said to.
    """

    def __init__(
        self,
        most: int,
        *,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.most = self.allowed = most
        self._clock, self._sleep = clock, sleep
        self._slots = Slots(most)
        self.asked = 0  # requests that wait or are under way
        self._answers = self._begun = self._cut_at = 0
        self._held_until = clock()
        self._queue = asyncio.Lock()
        self._requests = None if requests_per_minute is None else Pace(requests_per_minute, clock)
        self._tokens = None if tokens_per_minute is None else Pace(tokens_per_minute, clock)

    @asynccontextmanager
    async def turn(self, tokens: int, *, waited: bool = False) -> AsyncIterator[Turn]:
        """The turn of a request of about ``tokens``. ``waited``: it has waited as long as it was told to."""
        self.asked += 1
        try:
            self._come()
            await self._slots.take()
            try:
                await self._own_time(tokens, waited=waited)
                self._begun += 1
                turn = Turn(self._begun, self._clock())
                yield turn
                if turn.used is not None and self._tokens is not None:
                    self._tokens.correct(turn.used - tokens)
            finally:
                self._slots.give_back()
        finally:
            self.asked -= 1

    def limited(self, turn: Turn, wait: float | None = None) -> None:
        """A server said that the request of ``turn`` was one too many, and perhaps how long to ``wait``."""
        self._answers = 0
        self._hold(wait or 0.0)
        if turn.number <= self._cut_at:
            return  # sent before the last cut, which was about it too
        self._cut_at = self._begun
        cut = self.allowed - max(1, self.allowed // 2)
        self.allowed -= cut
        self._slots.take_out(cut)

    def answered(self) -> None:
        """A server answered; after some answers in a row more may be under way again."""
        self._answers += 1
        if self._answers < self.allowed or self.allowed >= self.most:
            return
        self._answers = 0
        self.allowed += 1
        self._slots.add()

    def leave(self) -> None:
        """Nothing more is sent for now."""

    def _come(self) -> None:
        """A request wants a turn."""

    async def _own_time(self, tokens: int, *, waited: bool) -> None:
        """Wait until a request that has a place may go."""
        if self._requests is None and self._tokens is None:
            pause = self._pause(tokens, waited=waited)
            if pause > 0:
                await self._sleep(pause)
            return
        async with self._queue:  # one takes its time after the other, for the pace may change meanwhile
            pause = self._pause(tokens, waited=waited)
            if pause > 0:
                await self._sleep(pause)

    def _hold(self, seconds: float) -> None:
        """Hold back every request for so long."""
        self._held_until = max(self._held_until, self._clock() + seconds)

    def _pause(self, tokens: int, *, waited: bool) -> float:
        held = 0.0 if waited else self._held_until - self._clock()
        by_requests = 0.0 if self._requests is None else self._requests.take(1)
        by_tokens = 0.0 if self._tokens is None else self._tokens.take(tokens)
        return max(held, by_requests, by_tokens)
