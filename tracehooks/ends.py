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
from types import FrameType


class Ends:
    """Calls ``finish`` once at each end of the process and of its forked children.

    ``seconds`` is how long SIGTERM may be held up by it.
    """

    def __init__(self, finish: Callable[[], None], seconds: float) -> None:
        self._finish = finish
        self._seconds = seconds
        self._is_watching = False

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
        # In a thread of its own: this one may hold, at this very moment, a lock that finishing needs.
        finishing = threading.Thread(target=self._finish, name="tracehooks-end", daemon=True)
        with contextlib.suppress(RuntimeError):
            finishing.start()
            finishing.join(self._seconds)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
