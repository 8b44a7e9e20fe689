"""A count that many threads add to, cheap enough for every call."""

from itertools import count

_BEFORE = len("count(")


class Tally:
    """How often :meth:`add` was called, by whatever threads.

    Each call takes the next number of one counter. That is a single step of C, which neither another thread
    nor a signal comes between, at a quarter of what a lock costs. Looking takes no lock either, so that a
    signal's handler may look.
    """

    __slots__ = ("_numbers", "add")

    def __init__(self) -> None:
        self._numbers = count()
        self.add = self._numbers.__next__

    @property
    def value(self) -> int:
        """The count, by the counter's own words ``count(7)``: to ask it for a number would take that one."""
        return int(repr(self._numbers)[_BEFORE:-1])
