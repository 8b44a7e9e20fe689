"""Background work in small pieces: in between, whoever needs the interpreter gets it, the agent above all.

A thread that waits for the interpreter asks for it only after Python's switch interval, 5 ms, and where ours
lets go of it for a moment, as in every statement of a database, ours is mostly back before the other woke up.
So our threads rest for real: after each piece they sleep several times as long as they computed, one after
the other, so that together they never have more than a part of the interpreter.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, sleep, thread_time

PIECE = 0.0002  # seconds of computing after which a thread of ours rests where it can
REST = 2.0  # times as long as it computed: together ours have at most half of the interpreter
LONGEST = 0.02  # seconds of one rest
MOMENT = 0.00005  # seconds of one under pressure: enough for a thread that waits to get in


def _none() -> float:
    return 0.0


class _Here(threading.local):
    """What is known of this thread."""

    is_ours = False
    since = 0.0  # its time of computing at the end of its last rest
    pressure: Callable[[], float] = staticmethod(_none)


class _Rests:
    """The rests of all threads of this process, one after the other, and who does without."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Begin anew in a forked child."""
        self._lock = threading.RLock()
        self._over = 0.0  # when the last one is over
        self.hurries = 0

    def take(self, seconds: float) -> float:
        """How long to sleep for ``seconds`` of rest that nobody else of us rests, or ends to rest, in."""
        with self._lock:
            now = monotonic()
            self._over = max(now, self._over) + seconds
            return self._over - now

    def hurry(self, change: int) -> None:
        """One more, or one less, waits for all of us."""
        with self._lock:
            self.hurries = max(0, self.hurries + change)


_here = _Here()
_rests = _Rests()


@contextmanager
def at_work(pressure: Callable[[], float] = _none) -> Iterator[None]:
    """What this thread does in here is background work, which rests where it calls :func:`breathe`.

    ``pressure()`` is from 0 to 1, which means that there is so much to do that it lets others in for a moment
    only. What is under pressure does not wait for the rests of others.
    """
    _here.is_ours, _here.pressure, _here.since = True, pressure, thread_time()
    try:
        yield
    finally:
        _here.is_ours, _here.pressure = False, _none


def breathe() -> None:
    """Rest, if this is background work and it has computed for long enough. Costs others nothing."""
    if not _here.is_ours or _rests.hurries:
        return
    used = thread_time() - _here.since
    if used < PIECE:
        return
    rest = min(LONGEST, REST * used)
    pressure = min(1.0, _here.pressure())
    sleep(max(MOMENT, rest * (1.0 - pressure)) if pressure else _rests.take(rest))
    _here.since = thread_time()


@contextmanager
def hurried() -> Iterator[None]:
    """Somebody waits for the background: nobody rests as long as this lasts."""
    _rests.hurry(1)
    try:
        yield
    finally:
        _rests.hurry(-1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_rests.begin)
