"""Interruption: Ctrl-C, and SIGTERM which is taken for the same."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM


class Interrupted(Exception):  # noqa: N818 - not an error: somebody asked for it
    """The work was interrupted and put away in order; the message says how to go on."""


@dataclass
class EndedBy:
    """What ended the work, if it was interrupted: Ctrl-C, or SIGTERM."""

    sigterm: bool = False

    @property
    def code(self) -> int:
        """The exit code that shells use for it."""
        return TERMINATED if self.sigterm else INTERRUPTED


@contextmanager
def termination_as_interrupt() -> Iterator[EndedBy]:
    """Within it, SIGTERM does what Ctrl-C does: the run is marked interrupted, its claims are given back."""
    ended_by = EndedBy()

    def interrupt(_signal: int, _frame: Any) -> None:
        ended_by.sigterm = True
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # so a shell starts what runs in its background
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)  # an event loop has its own way of stopping for it

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not in the main thread: whoever called us there has signals of their own
        yield ended_by
        return
    try:
        yield ended_by
    finally:
        signal.signal(signal.SIGTERM, before)
