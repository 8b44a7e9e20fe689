"""How values become columns: text, JSON and times that every database takes.

Text and JSON are made safe, never refused: one odd character must not cost a batch of spans.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, TypeVar

import orjson

from tracehooks.records import EPOCH

MAX_DEPTH = 100
MICROSECOND = timedelta(microseconds=1)
INT64 = range(-(2**63), 2**63)
# orjson writes integers up to the unsigned 64-bit maximum
JSON_INTEGERS = range(-(2**63), 2**64)

T = TypeVar("T")


def safe_text(text: str) -> str:
    """``text`` as valid UTF-8 without null characters: a lone surrogate or a null becomes U+FFFD."""
    return _utf8(text.replace("\x00", "\ufffd"))


def optional_text(text: str | None) -> str | None:
    """Like :func:`safe_text`, but None stays None."""
    return None if text is None else safe_text(text)


def to_json(value: Any) -> str:
    """``value`` as JSON text, whatever it holds.

    Integers over 64 bits become text, NaN and infinities null, lone surrogates U+FFFD, and what JSON has no
    form for its ``str()``.
    """
    try:
        return orjson.dumps(value, default=_simpler).decode()
    except (TypeError, ValueError, RecursionError):
        return orjson.dumps(_plain(value, 0)).decode()


def from_json(text: str | None) -> Any:
    """What :func:`to_json` wrote; None for None."""
    return None if text is None else orjson.loads(text)


def _simpler(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return list(value)
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    return _described(value)


def _plain(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, str):
        return _utf8(value)
    if isinstance(value, int):
        return int(value) if value in JSON_INTEGERS else _described(value)
    if depth == MAX_DEPTH:
        return "…"
    if isinstance(value, Mapping):
        return {_utf8(_described(key)): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item, depth + 1) for item in value]
    try:
        # times and the like have a form of their own in JSON
        return orjson.loads(orjson.dumps(value, default=_simpler))
    except (TypeError, ValueError, RecursionError):
        return _described(value)


def _utf8(text: str) -> str:
    """``text`` without lone surrogates. Nulls stay: JSON has an escape for them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        # by way of UTF-16, so that two halves of one character that were kept apart become it again
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _described(value: Any) -> str:
    """A str of ``value``; its type's name when even that fails (or an integer is too long to print)."""
    try:
        return _utf8(str(value))
    except Exception:
        return f"<{type(value).__name__}>"


def to_micros(time: datetime) -> int:
    """Microseconds since 1970 in UTC. Raises ValueError for a time without an offset."""
    if time.tzinfo is None:
        raise ValueError(f"{time.isoformat()} has no time zone; give an aware time")
    return (time - EPOCH) // MICROSECOND


def from_micros(micros: int) -> datetime:
    """The aware UTC time of :func:`to_micros`."""
    return EPOCH + micros * MICROSECOND


def duration_micros(duration: timedelta) -> int:
    """Microseconds of a duration."""
    return duration // MICROSECOND


def to_int64(number: int) -> int:
    """``number``, brought into the range of a 64-bit column."""
    return min(max(int(number), INT64[0]), INT64[-1])


def chunks(values: Iterable[T], size: int) -> Iterator[list[T]]:
    """``values`` in lists of at most ``size``: databases bound how many parameters a statement may have."""
    iterator = iter(values)
    while chunk := list(islice(iterator, size)):
        yield chunk
