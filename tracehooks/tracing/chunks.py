"""The chunks of a stream as they were when they passed, within bounds, and what they amount to."""

import copy
from collections.abc import Callable
from typing import Any

from tracehooks.tracing.capture import Capture, Recorded
from tracehooks.tracing.deltas import Delta, Tokens, assembled, delta_of, tokens_of
from tracehooks.tracing.encode import CLIP, encode
from tracehooks.tracing.trouble import trouble

ROOM = CLIP  # characters of all chunks together
ENTRY = 8  # what a chunk that is no text costs on top, so that endless small ones are bounded too

_UNCHANGING = frozenset({str, bytes, int, float, bool, complex, type(None)})


class _Json(bytes):
    """A chunk written out as JSON when it passed."""


class Chunks:
    """Collects a stream's chunks. ``reduce`` gets copies of them all; without one they are joined.

    A generator's loop keeps ``room`` itself: it appends texts to ``items`` while there is some, and hands
    everything else to :meth:`take`.
    """

    __slots__ = ("_reduce", "items", "lost", "room", "tokens")

    def __init__(self, reduce: Callable[[list[Any]], Any] | None = None) -> None:
        self.items: list[Any] = []
        self.room = ROOM
        self.lost = 0  # characters that had no room
        self.tokens: Tokens | None = None
        self._reduce = reduce

    def take(self, chunk: Any, room: int) -> int:
        """Keep ``chunk`` as it is now: whoever gets it may change it. Returns the room left. Never raises."""
        try:
            if chunk is not None and type(chunk) is not str:
                self.tokens = tokens_of(chunk) or self.tokens
            if room <= 0:
                self.lost += len(chunk) if type(chunk) in (str, bytes) else ENTRY
                return room
            item = self._snapshot(chunk)
            self.items.append(item)
            return room - ENTRY - _size(item)
        except Exception as error:
            trouble("capturing a chunk", error)
            return room

    def _snapshot(self, chunk: Any) -> Any:
        if type(chunk) in _UNCHANGING:
            return chunk
        if self._reduce is not None:
            try:
                return copy.deepcopy(chunk)
            except Exception:
                return chunk  # it cannot be copied, so probably nobody changes it either
        return delta_of(chunk) or _Json(encode(chunk)[0])

    def recorded(self, capture: Capture, *, messages: bool, complete: bool) -> Recorded:
        """All chunks as one output."""
        if self._reduce is not None:
            try:
                value = self._reduce(self.items)
            except Exception as error:
                trouble("reduce", error)
            else:
                return capture.output(value, messages=messages, complete=complete, missing=self.lost)
        try:
            text = "".join(self.items) if self.items else None
        except TypeError:
            text = None
        if text is not None:
            return capture.output(text, messages=messages, complete=complete, missing=self.lost)
        kinds = {type(item) for item in self.items} - {type(None)}
        if len(kinds) == 1 and (join := _JOINS.get(next(iter(kinds)))) is not None:
            value = join([item for item in self.items if item is not None])
            return capture.output(value, messages=messages, complete=complete, missing=self.lost)
        return capture.parts([_written(item) for item in self.items], self.lost)


_JOINS: dict[type, Callable[[list[Any]], Any]] = {str: "".join, bytes: b"".join, Delta: assembled}


def _size(item: Any) -> int:
    if type(item) is Delta:
        return item.size
    return len(item) if isinstance(item, str | bytes) else 0


def _written(item: Any) -> bytes:
    if type(item) is _Json:
        return item
    return encode(assembled([item]) if type(item) is Delta else item)[0]
