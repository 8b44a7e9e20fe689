"""How fast a server may be asked: what it said about when to come again, for all who ask it."""

import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST = 3600.0  # seconds; a server that asks for more is asked again after this


class Pace:
    """Holds everybody back who asks one server, once it has told one of them to wait."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next = 0.0
        self.renew_lock()

    def renew_lock(self) -> None:
        """Begin with a lock that nobody holds."""
        self._lock = threading.Lock()

    def hold(self, seconds: float) -> None:
        """Nobody asks for so long."""
        with self._lock:
            self._next = max(self._next, self._clock() + seconds)

    def remaining(self) -> float:
        """Seconds until somebody may ask; 0 for now."""
        return max(0.0, self._next - self._clock())


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """The seconds that ``Retry-After`` asks for, in seconds or as a date, an hour at most; None for none.

    A date is taken against the server's own ``Date``, so that a clock that is wrong here does not matter.
    """
    said = headers.get("retry-after", "").strip()
    if not said:
        return None
    try:
        seconds = float(said) if said[0].isdigit() else _until(said, headers, now)
    except (ValueError, TypeError, IndexError):
        return None
    return min(max(0.0, seconds), LONGEST)


def _until(said: str, headers: Mapping[str, str], now: datetime | None) -> float:
    return (_aware(said) - (server_time(headers) or now or datetime.now(UTC))).total_seconds()


def server_time(headers: Mapping[str, str]) -> datetime | None:
    """The server's clock, to the second, from its ``Date``; None when it does not tell."""
    try:
        return _aware(headers["date"])
    except (KeyError, ValueError, TypeError, IndexError):
        return None


def _aware(text: str) -> datetime:
    moment = parsedate_to_datetime(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
