"""The chunks of a stream as they were when they passed, within bounds, and what they amount to."""

import copy
from collections.abc import Callable
from typing import Any

from tracehooks.tracing.deltas import Delta, Tokens, assembled, delta_of, tokens_of
from tracehooks.tracing.encode import CLIP, encode
from tracehooks.tracing.interrupts import let_through
from tracehooks.tracing.trouble import trouble

ROOM = CLIP  # characters of all chunks together
BLOCK = 256  # chunks between two reviews
ENTRY = 8  # what a chunk costs on top, so that endless empty ones are bounded too

_UNCHANGING = frozenset({str, bytes, int, float, bool, complex, type(None)})


class _Json(bytes):
    """A chunk written out as JSON when it passed."""


class Written(list[bytes]):
    """A list of chunks, each as its JSON."""


class Chunks:
    """Collects a stream's chunks. ``reduce`` gets copies of them all; without one they are joined.

    A generator's loop appends texts shorter than ``limit`` to ``items`` itself, hands everything else to
    :meth:`take`, and calls :meth:`review` every ``BLOCK`` chunks; both tell the new limit. So usual chunks
    cost next to nothing, and all together stay within ``ROOM``.
    """

    __slots__ = ("_reduce", "_reviewed", "_room", "items", "limit", "lost", "tokens")

    def __init__(self, reduce: Callable[[list[Any]], Any] | None = None) -> None:
        self.items: list[Any] = []
        self.limit = ROOM // BLOCK // 2
        self.lost = 0  # characters that had no room
        self.tokens: Tokens | None = None
        self._reduce = reduce
        self._room = ROOM
        self._reviewed = 0

    def take(self, chunk: Any) -> int:
        """Keep ``chunk`` as it is now: whoever gets it may change it. Returns the limit. Never raises."""
        try:
            if chunk is not None and type(chunk) is not str:
                self.tokens = tokens_of(chunk) or self.tokens
            if self.review() <= 0:
                self.lost += len(chunk) if type(chunk) in (str, bytes) else ENTRY
            else:
                self.items.append(self._snapshot(chunk))
                self.review()
        except BaseException as error:
            trouble("capturing a chunk", error)
        return self.limit

    def review(self) -> int:
        """Count what has come since the last review. Returns the limit; 0 when there is no room any more."""
        new = self.items[self._reviewed :]
        self._reviewed += len(new)
        try:
            self._room -= sum(map(len, new)) + ENTRY * len(new)
        except TypeError:  # not only texts
            self._room -= sum(map(_size, new))
        self.limit = max(0, self._room // BLOCK // 2)
        return self.limit

    def _snapshot(self, chunk: Any) -> Any:
        if type(chunk) in _UNCHANGING:
            return chunk
        if self._reduce is not None:
            try:
                return copy.deepcopy(chunk)
            except BaseException as error:
                let_through(error)
                return chunk  # it cannot be copied, so probably nobody changes it either
        return delta_of(chunk) or _Json(encode(chunk)[0])

    def value(self) -> Any:
        """All chunks as one result; :class:`Written` where they have only their JSON in common."""
        if self._reduce is not None:
            try:
                return self._reduce(self.items)
            except BaseException as error:
                trouble("reduce", error)
        try:
            if self.items:
                return "".join(self.items)
        except TypeError:  # not only texts
            pass
        kinds = {type(item) for item in self.items} - {type(None)}
        if len(kinds) == 1 and (join := _JOINS.get(next(iter(kinds)))) is not None:
            return join([item for item in self.items if item is not None])
        return Written(_written(item) for item in self.items)


_JOINS: dict[type, Callable[[list[Any]], Any]] = {str: "".join, bytes: b"".join, Delta: assembled}


def _size(item: Any) -> int:
    if type(item) is Delta:
        return ENTRY + item.size
    return ENTRY + len(item) if isinstance(item, str | bytes) else ENTRY


def _written(item: Any) -> bytes:
    if type(item) is _Json:
        return item
    return encode(assembled([item]) if type(item) is Delta else item)[0]
