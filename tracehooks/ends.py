"""The ends of a process: whatever way it ends, what is pending is finished first, within a time.

Return, ``sys.exit`` and uncaught errors end through ``atexit``; the children of multiprocessing through its
own finalizers. SIGTERM, by which containers are stopped, ends a process at once unless it has a handler: so a
process that has none gets one, which finishes and then lets the signal do what it would have done. Nothing
can be done about SIGKILL, ``os._exit``, and servers that put the default handler back before they raise the
signal again (uvicorn, which looked at the handlers before it imported the application): there only what is
stored already is safe, unless the application flushes when it is shut down.
"""

import atexit
import contextlib
import os
import signal
import threading
from collections.abc import Callable
from time import monotonic
from types import FrameType

LEAST = 0.1  # seconds that each call gets


class Ends:
    """Calls ``finish(timeout)`` at the end of the process and of its forked children.

    There may be several calls on the way out, because exit handlers of others trace as well; together they
    get ``seconds``.
    """

    def __init__(self, finish: Callable[[float], None], seconds: float) -> None:
        self._finishing = finish
        self._seconds = seconds
        self._is_watching = False
        self._left = seconds
        self._since: float | None = None  # when the call began that is going on; SIGTERM may come in it
        self._pid = os.getpid()

    def watch(self) -> None:
        """From now on. Called again, it takes SIGTERM if it could not before."""
        self._take_sigterm()
        if self._is_watching:
            return
        self._is_watching = True
        atexit.register(self._finish)
        with contextlib.suppress(ImportError):  # a child of multiprocessing leaves without atexit
            from multiprocessing import util

            util.Finalize(None, self._finish, exitpriority=10)
            util.register_after_fork(self, Ends._watch_child)

    @property
    def is_abrupt(self) -> bool:
        """Whether SIGTERM ends the process without asking us: it belongs to the application, or to no one."""
        return signal.getsignal(signal.SIGTERM) != self._on_sigterm

    def _finish(self) -> None:
        if self._pid != os.getpid():
            self._pid, self._left, self._since = os.getpid(), self._seconds, None
        outer, now = self._since, monotonic()
        self._since = now if outer is None else outer
        try:
            self._finishing(max(LEAST, self._left - (now - self._since)))
        except Exception:  # noqa: S110 - it has told of its own failures, and nothing may keep the exit
            pass
        finally:
            self._left = max(LEAST, self._left - (monotonic() - now))
            self._since = outer

    def _watch_child(self) -> None:
        from multiprocessing import util

        util.Finalize(None, self._finish, exitpriority=10)

    def _take_sigterm(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            with contextlib.suppress(ValueError, OSError):  # not the main interpreter
                signal.signal(signal.SIGTERM, self._on_sigterm)

    def _on_sigterm(self, number: int, _frame: FrameType | None) -> None:
        # On this very thread, which may be in the middle of anything of ours, finishing included: all locks
        # that it can meet here are reentrant, and another thread would wait for them in vain.
        self._finish()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
