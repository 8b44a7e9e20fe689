"""Times as Langfuse writes them, and the clock of the stand-in."""

import functools
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime

_ISO = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d(:?\d\d)?))", re.ASCII
)  # an offset or Z is required, as on the server


class Clock:
    """The server's clock: the given one (seconds since the epoch), plus what tests add to it.

    ``advance`` lets time pass, so that delayed rows show; ``skew`` is only in what the server says.
    """

    def __init__(self, source: Callable[[], float] | None = None) -> None:
        self._source = source or time.time
        self._passed = 0.0
        self.skew = 0.0

    def now(self) -> float:
        """Seconds since the epoch, by which delays are counted."""
        return self._source() + self._passed

    def told(self) -> float:
        """Seconds since the epoch, as the server writes them down."""
        return self.now() + self.skew

    def advance(self, seconds: float) -> None:
        self._passed += seconds


def iso(seconds: float) -> str:
    """``2026-11-30T17:45:50.694Z``: milliseconds, which sort as text."""
    return iso_ms(int(seconds * 1000))


def iso_ms(milliseconds: int) -> str:
    """As ``iso``, of milliseconds since the epoch."""
    return f"{_whole(milliseconds // 1000)}.{milliseconds % 1000:03d}Z"


@functools.lru_cache(4096)
def _whole(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"


def milliseconds(text: object) -> int | None:
    """Milliseconds since the epoch of an ISO time with an offset; None for anything else."""
    if not isinstance(text, str) or not _ISO.fullmatch(text):
        return None
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1000 + 0.0005)
    except ValueError:
        return None
