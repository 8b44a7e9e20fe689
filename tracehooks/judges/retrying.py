"""When to send a failed request again, and how long to wait before."""

import asyncio
import email.utils
import math
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC

from tracehooks.judges.completions import CompletionFailed
from tracehooks.records import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """The retry budget of one request: ``attempts`` failures, then no more.

    Waits double from ``first`` seconds (``first_limited`` after a 429) up to ``longest``, each shortened at
    random by up to half so that many callers do not return together. A server's own Retry-After is obeyed
    instead, unless it asks for more than ``patience`` seconds: then the request is given up at once.
    """

    attempts: int = 3
    first: float = 0.25
    first_limited: float = 1.0
    longest: float = 20.0
    patience: float = 120.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    random: Callable[[], float] = random.random

    def pause(self, failure: CompletionFailed, failures: int) -> float | None:
        """Seconds to wait after the ``failures``-th failure; None when the request is not sent again."""
        if not failure.retry or failures >= self.attempts:
            return None
        if failure.wait is not None:
            return failure.wait if failure.wait <= self.patience else None
        first = self.first_limited if failure.reason is Reason.RATE_LIMITED else self.first
        return float(min(self.longest, first * 2 ** (failures - 1)) * (1 - self.random() / 2))


def retry_after(headers: Mapping[str, str], now: Callable[[], float] = time.time) -> float | None:
    """The seconds that a server asks to wait, from ``retry-after-ms`` or either form of ``retry-after``.

    A date is compared with the server's own clock where its ``date`` header tells it, else with ``now``.
    None when the server does not say, or says what cannot be read. Header names are lower-case.
    """
    milliseconds = _seconds(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    seconds = _seconds(text)
    if seconds is not None:
        return seconds
    until = _moment(text)
    if until is None:
        return None
    today = _moment(headers.get("date"))
    return max(0.0, until - (now() if today is None else today))


def _seconds(text: str | None) -> float | None:
    try:
        seconds = float(text or "")
    except ValueError:
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _moment(text: str | None) -> float | None:
    try:
        moment = email.utils.parsedate_to_datetime(text or "")
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
