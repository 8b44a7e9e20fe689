"""The ends of a process: whatever way it ends, what is pending is finished first, within a time.

Return, ``sys.exit`` and uncaught errors end through ``atexit``; the children of multiprocessing through its
own finalizers. SIGTERM, by which containers are stopped, ends a process at once unless it has a handler: so a
process that has none gets one, which finishes and then lets the signal do what it would have done. Nothing
can be done about SIGKILL, ``os._exit``, and servers that put the default handler back before they raise the
signal again (uvicorn, which looked at the handlers before it imported the application): there only what is
stored already is safe, unless the application flushes when it is shut down.

Python runs a signal's handler on the main thread, between any two instructions of whatever that is at. What
is interrupted may hold a lock that finishing needs, and goes on only when the handler has returned. So the
handler finishes in a thread of its own, and waits for it no longer than the time allows, whatever that may be
stuck on. Where it has interrupted code of ours, which holds its locks for an instant only, it lets that go on
first, and comes again.

A child of multiprocessing has SIGTERM for itself when it begins to have something to finish, and not before.
"""

import _thread
import atexit
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from time import monotonic, sleep
from types import FrameType

from tracehooks.waking import AroundFork, Waker

LEAST = 0.1  # seconds that each call gets
GRACE = 0.5  # seconds that a finish may be late, before it is not waited for any more
AGAIN = 0.01  # seconds after which SIGTERM comes again where it interrupted code of ours
PATIENCE = 0.3  # seconds for such code to let go of its locks

CAN_REPEAT = hasattr(signal, "pthread_kill")


class Ends:
    """Calls ``finish(timeout)`` at the end of the process and of its forked children.

    There may be several calls on the way out, because exit handlers of others trace as well; together they
    get ``seconds``.
    """

    def __init__(self, finish: Callable[[float], None], seconds: float) -> None:
        self._finishing = finish
        self._seconds = seconds
        self._is_watching = False
        self._waker = Waker(signal.SIGTERM, self._insist)
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._left = self._seconds
        self._is_ending = False  # a finish is going on, which SIGTERM may come in
        self._signal = 0  # the one that came meanwhile
        self._called: float | None = None  # when SIGTERM first came

    def watch(self) -> None:
        """From now on. Called again, it takes SIGTERM if it could not before."""
        self._take_sigterm()
        if self._is_watching:
            return
        self._is_watching = True
        AroundFork(signal.SIGTERM, lambda: not self.is_abrupt, self._waker.close).register()
        atexit.register(self._finish)
        with contextlib.suppress(ImportError):  # a child of multiprocessing leaves without atexit
            from multiprocessing import util

            util.Finalize(None, self._finish, exitpriority=10)
            util.register_after_fork(self, Ends._watch_child)

    def watch_again(self) -> None:
        """Take SIGTERM in a process that begins to have something to finish, if it was watched before."""
        if self._is_watching:
            self._take_sigterm()

    def stay_awake(self) -> None:
        """There is something to finish once more: SIGTERM still has to reach its handler."""
        self._waker.keep()

    @property
    def is_abrupt(self) -> bool:
        """Whether SIGTERM ends the process without asking us: it belongs to the application, or to no one."""
        return signal.getsignal(signal.SIGTERM) != self._on_sigterm

    def _finish(self) -> None:
        """At an exit: on this thread, because the interpreter may start none any more."""
        if self._pid != os.getpid():
            self._begin()
        self._is_ending = True
        try:
            self._call()
        finally:
            self._is_ending = False
            if self._signal:
                _die(self._signal)

    def _call(self) -> None:
        begun = monotonic()
        with contextlib.suppress(Exception):  # it has told of its own failures, and nothing may keep the exit
            self._finishing(max(LEAST, self._left))
        self._left = max(LEAST, self._left - (monotonic() - begun))

    def _watch_child(self) -> None:
        from multiprocessing import util

        util.Finalize(None, self._finish, exitpriority=10)
        if not self.is_abrupt:  # one that has nothing to finish is ended by the system, at once
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _take_sigterm(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            with contextlib.suppress(ValueError, OSError):  # not the main interpreter
                if not (CAN_REPEAT and _is_waited_for()) or self._waker.open():
                    signal.signal(signal.SIGTERM, self._on_sigterm)

    def _on_sigterm(self, number: int, frame: FrameType | None) -> None:
        if self._pid != os.getpid():
            self._begin()
        if self._is_ending:
            self._signal = number  # whoever is finishing does that when it is done
        elif not (CAN_REPEAT and _is_ours(frame) and self._comes_again(number)):
            self._is_ending = True
            self._finish_beside()
            _die(number)

    def _insist(self) -> None:
        """SIGTERM was noted: it is sent until its handler runs, unless that is not ours any more."""
        while not self.is_abrupt and not self._is_ending:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
            sleep(AGAIN)

    def _comes_again(self, number: int) -> bool:
        if self._called is None:
            self._called = monotonic()
            with contextlib.suppress(RuntimeError):  # the system has no thread left
                _thread.start_new_thread(self._repeat, (number,))
                return True
        return monotonic() - self._called < PATIENCE

    def _repeat(self, number: int) -> None:
        main = threading.main_thread().ident
        while not self._is_ending and main is not None:
            sleep(AGAIN)
            signal.pthread_kill(main, number)

    def _finish_beside(self) -> None:
        """In a thread made without the ``threading`` module, whose lock may be held just now as well."""
        done = _thread.allocate_lock()
        done.acquire()

        def finish() -> None:
            try:
                self._call()
            finally:
                done.release()

        with contextlib.suppress(RuntimeError):
            _thread.start_new_thread(finish, ())
            done.acquire(timeout=self._left + GRACE)


def _is_waited_for() -> bool:
    """Whether a process of multiprocessing started this one: it sends SIGTERM once, and waits."""
    process = sys.modules.get("multiprocessing.process")
    return process is not None and process.parent_process() is not None


def _is_ours(frame: FrameType | None) -> bool:
    """Whether code of ours is running there, or the standard library's on its behalf."""
    name = "threading"
    while frame is not None and name in sys.stdlib_module_names:
        name = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        frame = frame.f_back
    return name == "tracehooks"


def _die(number: int) -> None:
    """As by the signal itself, had nobody handled it."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
