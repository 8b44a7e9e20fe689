"""Any Python value as JSON bytes: fast for usual values, safe for all, bounded for huge ones.

The usual value goes through orjson as it is. Whatever orjson refuses (a cycle, a key that is no text, half a
surrogate pair, an integer beyond 64 bits) or would take too long goes through a slow copy that cannot fail.
"""

from collections import deque
from itertools import islice
from typing import Any

import orjson

from tracehooks.tracing.interrupts import let_through
from tracehooks.tracing.simplify import simplify, type_mark

CLIP = 2_000_000  # bytes of one value that are looked at; the rest is only counted where that is cheap
MAX_DEPTH = 100
MAX_NODES = 20_000  # of the slow copy
SEEN = 300  # entries looked at beforehand: what is huge is nearly always so near the surface

LONGEST_WORD = 4096

_NODE = 16  # bytes that a container's entry counts for
_LOWEST, _HIGHEST = -(2**63), 2**64 - 1  # what orjson takes

dumps = orjson.dumps
loads = orjson.loads


def encode(value: Any, allowance: int = CLIP) -> tuple[bytes, int]:
    """``value`` as JSON, and about how many bytes of it are missing there because it is huge. Never raises.

    NaN and infinities become null, bytes text, what has no form its type's name.
    """
    try:
        if type(value) is str:
            if len(value) <= allowance:
                return dumps(value), 0
        elif _is_small(value, allowance):
            return dumps(value, simplify), 0
    except BaseException as error:  # orjson refused; the slow copy takes everything
        let_through(error)
    return _encode_slowly(value, allowance)


def _is_small(value: Any, allowance: int) -> bool:
    """Whether texts and entries stay within the allowance, as far as a quick look at the outermost tells."""
    entries = SEEN
    waiting: list[Any] = [(value,)]
    for container in waiting:
        size = len(container)
        allowance -= size * _NODE
        entries -= size
        if allowance < 0 or entries < 0:
            break
        for item in container.values() if type(container) is dict else container:
            kind = type(item)
            if kind is str:
                allowance -= len(item)
            elif kind is dict or kind is list or kind is tuple:
                waiting.append(item)
    return allowance >= 0


def _encode_slowly(value: Any, allowance: int) -> tuple[bytes, int]:
    copy = _Copy(allowance)
    try:
        return dumps(copy.of(value, 0)), copy.lost
    except BaseException as error:
        let_through(error)
        return dumps(type_mark(type(value))), 0


def clean(text: str) -> str:
    """``text`` with every half of a surrogate pair replaced by U+FFFD, and whole pairs joined."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def head(text: str, length: int) -> str:
    """``text``, or its first ``length`` characters less the last word: no mask would know half a secret."""
    if len(text) <= length:
        return text
    text = text[:length]
    end = max(text.rfind(" "), text.rfind("\n"))
    return text[:end] if end > length - LONGEST_WORD else text


class _Copy:
    """A copy made of what JSON knows, with an allowance that ends even endless structures."""

    def __init__(self, allowance: int) -> None:
        self.lost = 0
        self._text = allowance
        self._nodes = MAX_NODES
        self._open: set[int] = set()  # ids of the containers on the way down, so that a cycle is seen

    def of(self, value: Any, depth: int) -> Any:
        """``value`` copied; ``depth`` is how many containers it is in."""
        kind = type(value)
        self._nodes -= 1
        if value is None or kind is bool or kind is float:
            return value
        if issubclass(kind, str):
            return self._str(value)
        if issubclass(kind, int) and not issubclass(kind, bool):
            return _int(int(value))
        if depth >= MAX_DEPTH or self._nodes <= 0 or id(value) in self._open:
            return type_mark(kind)
        self._open.add(id(value))
        try:
            return self._container(value, kind, depth)
        finally:
            self._open.discard(id(value))

    def _container(self, value: Any, kind: type, depth: int) -> Any:
        try:
            if issubclass(kind, dict):
                return self._dict(value, depth)
            if kind is list or kind is tuple or issubclass(kind, set | frozenset | deque):
                return self._list(value, depth)
        except BaseException as error:  # changed by another thread meanwhile, or by its own methods
            let_through(error)
            return type_mark(kind)
        return self.of(simplify(value), depth + 1)

    def _list(self, value: Any, depth: int) -> list[Any]:
        kept = [self.of(item, depth + 1) for item in islice(value, max(0, self._nodes))]
        self.lost += 2 * (len(value) - len(kept))
        return kept

    def _dict(self, value: dict[Any, Any], depth: int) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for key, item in islice(value.items(), max(0, self._nodes)):
            name = self._key(key, depth)
            kept[f"{name} ({type(key).__name__})" if name in kept else name] = self.of(item, depth + 1)
        self.lost += 5 * (len(value) - len(kept))
        return kept

    def _key(self, key: Any, depth: int) -> str:
        name = self.of(list(key) if type(key) is tuple else key, depth + 1)
        return name if type(name) is str else dumps(name).decode()

    def _str(self, text: str) -> str:
        text = str.__str__(text)
        kept = head(text, max(0, self._text))
        self.lost += len(text) - len(kept)
        self._text -= len(kept)
        return clean(kept)


def _int(number: int) -> int | str:
    if _LOWEST <= number <= _HIGHEST:
        return number
    try:
        return str(number)
    except ValueError:  # Python refuses to write out thousands of digits
        return f"<int of {number.bit_length()} bits>"
