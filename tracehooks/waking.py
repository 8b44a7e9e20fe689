"""A signal that Python noted is brought to its handler, however the main thread waits.

Python notes a signal at once, and runs its handler on the main thread before the next instruction. One that
comes just as a call begins to wait is noted, and the call waits all the same: until it returns, or another
signal interrupts it. Who sends a signal once and then waits for the process, as ``multiprocessing.Pool`` does
with its workers, may wait for ever.
"""

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable
from time import sleep

PAUSE = 0.05  # seconds between looks, whatever other signals come


class Waker:
    """Calls ``noted()``, on a thread of its own, when Python has noted the signal ``number``.

    It uses Python's one wake-up descriptor, and leaves it to whoever has it already.
    """

    def __init__(self, number: int, noted: Callable[[], object]) -> None:
        self._number = number
        self._noted = noted
        self._sockets: tuple[socket.socket, ...] = ()

    def open(self) -> bool:
        """From now on; False if that cannot be, or not on this thread: only the main one can."""
        if self._sockets:
            return True
        reader, writer = self._sockets = socket.socketpair()
        writer.setblocking(False)
        thread = threading.Thread(target=self._read, args=(reader,), name="tracehooks-signals", daemon=True)
        try:
            if _take(writer.fileno()):
                thread.start()
            else:
                self.close()
        except (ValueError, RuntimeError):  # not the main thread, or the system gives no thread
            self.close()
        return bool(self._sockets)

    def keep(self) -> None:
        """Take the descriptor again if nobody has it: an event loop takes it, and leaves none when it closes.

        Costs next to nothing where there is no waker.
        """
        if self._sockets and threading.current_thread() is threading.main_thread():
            with contextlib.suppress(ValueError):
                _take(self._sockets[1].fileno())

    def close(self) -> None:
        """No more. A forked child must, at once: what it notes would be told to its parent."""
        sockets, self._sockets = self._sockets, ()
        if not sockets:
            return
        with contextlib.suppress(ValueError):
            before = signal.set_wakeup_fd(-1)
            if before not in (-1, sockets[1].fileno()):
                signal.set_wakeup_fd(before)
        for each in sockets:
            each.close()

    def _read(self, reader: socket.socket) -> None:
        with contextlib.suppress(OSError):  # closed
            while numbers := reader.recv(4096):
                if self._number in numbers:
                    self._noted()
                sleep(PAUSE)


def _take(descriptor: int) -> bool:
    """Have Python write there, unless it writes elsewhere already."""
    before = signal.set_wakeup_fd(descriptor, warn_on_full_buffer=False)
    if before in (-1, descriptor):
        return True
    signal.set_wakeup_fd(before)
    return False


class AroundFork:
    """Holds the signal ``number`` back while a process forks, for as long as ``is_wanted()``.

    Python forgets in the child what it noted there before it is set up; the system does not.
    """

    def __init__(self, number: int, is_wanted: Callable[[], bool], in_child: Callable[[], object]) -> None:
        self._number = number
        self._is_wanted = is_wanted
        self._in_child = in_child
        self._held = threading.local()

    def register(self) -> None:
        """From now on, for every ``os.fork`` of the process."""
        if hasattr(os, "register_at_fork") and hasattr(signal, "pthread_sigmask"):
            os.register_at_fork(
                before=self._hold, after_in_parent=self._release, after_in_child=self._begin_child
            )

    def _hold(self) -> None:
        if self._is_wanted():
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {self._number})
            self._held.by_us = self._number not in before

    def _begin_child(self) -> None:
        self._in_child()
        self._release()

    def _release(self) -> None:
        if getattr(self._held, "by_us", False):
            self._held.by_us = False
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {self._number})
