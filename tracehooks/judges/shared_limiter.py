"""SharedLimiter: the limiter of one event loop that shares what is allowed with all other senders."""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable
from functools import partial

from tracehooks.judges.limiter import Limiter, Sleep, Turn
from tracehooks.judges.sharing import News, Share, Sharing

logger = logging.getLogger("tracehooks")

BEAT = 1.0  # seconds between renewals while there is something to send
SOON = 0.2  # seconds until it asks again for what others have yet to give back
GATHER = 0.02  # seconds in which those who come together are counted together
LEAST_PART = 0.01  # of a minute's requests; with less than that there is no place


class SharedLimiter(Limiter):
    """At most its share of ``most`` requests at once, and of what may go out in a minute.

    The share is renewed once a second while there is something to send, whatever number of requests go out;
    what it then learns of 429s and waits holds here too. Without news for a while, because the store cannot
    be had, nothing is sent.
    """

    def __init__(
        self,
        most: int,
        *,
        sharing: Sharing,
        judge: str,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        super().__init__(
            most,
            requests_per_minute=requests_per_minute,
            tokens_per_minute=tokens_per_minute,
            clock=clock,
            sleep=sleep,
        )
        self._sharing, self._judge, self._sender = sharing, judge, secrets.token_hex(8)
        self._paces = [pace for pace in (self._requests, self._tokens) if pace is not None]
        self._slots.take_out(most)
        self._places = self._told = self._peak = 0
        self._limited: float | None = None
        self._wait = self._valid_until = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._is_asking = self._asks_again = self._complained = False

    def limited(self, turn: Turn, wait: float | None = None) -> None:
        """A server said that the request of ``turn`` was one too many; all senders are told at once."""
        self._answers = 0
        self._hold(wait or 0.0)
        if turn.number <= self._cut_at:
            return
        self._cut_at = self._begun
        self._limited, self._wait = turn.began, wait or 0.0
        self._renew()

    def answered(self) -> None:
        """A server answered; told with the next renewal."""
        self._answers += 1

    def leave(self) -> None:
        """Give the share back. The next request takes one again."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._told = None, 0
        self._have(0)
        try:
            self._sharing.leave(self._judge, self._sender)
        except Exception as error:  # then it lapses by itself
            logger.debug("a share could not be given back: %s", error)

    def _come(self) -> None:
        self._peak = max(self._peak, self.asked)
        if self._timer is None:
            self._renew()
        elif self.asked > max(self._places, self._told):
            self._renew_in(GATHER)

    async def _own_time(self, tokens: int, *, waited: bool) -> None:
        while self._clock() > self._valid_until:  # it was held up for long, or the store cannot be had
            self._renew()
            await asyncio.sleep(SOON)
        await super()._own_time(tokens, waited=waited)

    def _renew(self) -> None:
        """Ask for a share, in a thread: the loop never waits for the store. Nothing new begins meanwhile."""
        if self._is_asking:
            self._asks_again = True
            return
        self._told = min(self._peak, self.most)
        if not self._told:
            self.leave()
            return
        news, asked_at, loop = self._news(), self._clock(), asyncio.get_running_loop()
        self._answers, self._limited, self._wait, self._peak = 0, None, 0.0, self.asked
        self._have(min(self._places, self._slots.taken))
        self._is_asking = True
        renewing = loop.run_in_executor(None, self._sharing.renew, self._judge, self._sender, news)
        renewing.add_done_callback(partial(self._renewed, news, asked_at))

    def _renewed(self, news: News, asked_at: float, renewing: "asyncio.Future[Share]") -> None:
        self._is_asking = False
        again, self._asks_again = self._asks_again, False
        if renewing.cancelled():
            return
        error = renewing.exception()
        if error is not None:
            self._do_without(news, error)
            return
        share = renewing.result()
        self._valid_until = asked_at + share.lasts - BEAT
        self._use(share)
        if again:
            self._renew()
        else:
            self._renew_in(SOON if share.short else BEAT)

    def _news(self) -> News:
        return News(
            most=self.most,
            wanted=self._told,
            under_way=self._slots.taken,
            answered=self._answers,
            limited=None if self._limited is None else max(0.0, self._clock() - self._limited),
            wait=self._wait,
        )

    def _do_without(self, news: News, error: BaseException) -> None:
        if self.asked and not self._complained:
            self._complained = True
            logger.warning("the limits of the judge cannot be shared: %s", error)
        self._answers += news.answered
        self._renew_in(BEAT)

    def _use(self, share: Share) -> None:
        self.allowed = share.allowed
        self._hold(share.held)
        starved = bool(self._paces) and share.part < LEAST_PART
        for pace in self._paces:
            pace.share(max(share.part, LEAST_PART))
        self._have(0 if starved else share.places)

    def _have(self, places: int) -> None:
        if places < self._places:
            self._slots.take_out(self._places - places)
        for _ in range(places - self._places):
            self._slots.add()
        self._places = places

    def _renew_in(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._renew)
