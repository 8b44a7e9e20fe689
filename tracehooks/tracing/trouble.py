"""Our own failures: counted, told once each on the logger ``tracehooks``, and never passed on."""

import logging
import os
import threading
from collections import Counter

from tracehooks.errors import TracehooksError
from tracehooks.tracing.interrupts import let_through

logger = logging.getLogger("tracehooks")


class Trouble:
    """Counts what went wrong on our side, by place. The first of each place is one warning.

    The warning names the kind of error and the line, but not its text, which may quote what was traced. Of
    our own errors it is the text, which says what to do.
    """

    def __init__(self) -> None:
        self._renew_lock()
        self._counts: Counter[str] = Counter()

    def __call__(self, place: str, error: BaseException | str) -> None:
        """Count a failure at ``place``, such as "ending a span".

        What is none, because a signal's handler raised it in the middle of our code, is raised again.
        """
        if not isinstance(error, str):
            let_through(error)
        with self._lock:
            self._counts[place] += 1
            first = self._counts[place] == 1
        if first:
            logger.warning("tracehooks: %s failed: %s", place, _where(error))

    @property
    def counts(self) -> dict[str, int]:
        """How often each place failed."""
        with self._lock:
            return dict(self._counts)

    def _renew_lock(self) -> None:
        self._lock = threading.RLock()

    def clear(self) -> None:
        """Forget all, so that the next failure warns again."""
        with self._lock:
            self._counts.clear()


def _where(error: BaseException | str) -> str:
    if isinstance(error, str):
        return error
    if isinstance(error, TracehooksError) and str(error):
        return str(error)
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    line = "" if last is None else f" at {last.tb_frame.f_code.co_filename}:{last.tb_lineno}"
    return f"{type(error).__name__}{line}"


trouble = Trouble()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=trouble._renew_lock)  # another thread may have held it
