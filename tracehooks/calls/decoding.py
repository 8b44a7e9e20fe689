"""JSON as instrumentations write it: encoded twice, cut short, with NaN or half a surrogate pair."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import orjson

from tracehooks.records import is_blank

MAX_DECODINGS = 3
MAX_DEPTH = 12

_JSON_STARTS = frozenset('{["')
_ENDS_EARLY = re.compile(r"EOF while parsing|unexpected end")


def decode(value: Any) -> tuple[Any, bool]:
    """``value`` with JSON inside strings decoded, and whether that JSON had been cut short.

    A string that is not JSON stays as it is; so does JSON that is a mere number, true or false.
    """
    for _ in range(MAX_DECODINGS):
        if value == "null":
            return None, False
        if not isinstance(value, str) or (head := value.lstrip()[:1]) not in _JSON_STARTS:
            return value, False
        try:
            value = _loads(value)
        except (ValueError, RecursionError):
            part = cut_json(value) if head != '"' else None
            return (value, False) if part is None else (part, True)
    return value, False


def _loads(text: str) -> Any:
    try:
        return orjson.loads(text)
    except ValueError:
        return json.loads(text)  # takes what Python writes and JSON forbids: NaN, halves of surrogate pairs


def cut_json(text: str) -> Any:
    """What can be read of JSON that was cut short; None when ``text`` is not the beginning of any JSON."""
    from pydantic_core import from_json

    try:
        from_json(text)
    except ValueError as error:
        if _ENDS_EARLY.match(str(error)):
            with suppress(ValueError):
                return from_json(text, allow_partial="trailing-strings")
    return None


def compact(value: Any) -> str | None:
    """``value`` as compact JSON when there is any text in it, else None."""
    if not _holds_text(value, 0):
        return None
    try:
        return orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:
        with suppress(TypeError, ValueError, RecursionError):
            return json.dumps(value, default=_plain, ensure_ascii=False, separators=(",", ":"), skipkeys=True)
        return None


def is_unicode(text: str) -> bool:
    """Whether ``text`` can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def unicode(text: str | None) -> str | None:
    """``text`` with every half of a surrogate pair replaced by U+FFFD, and whole pairs joined."""
    return text and text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _holds_text(value: Any, depth: int) -> bool:
    if isinstance(value, str):
        return not is_blank(value)
    if depth >= MAX_DEPTH:
        return False
    if isinstance(value, Mapping):
        return any(_holds_text(entry, depth + 1) for entry in value.values())
    return isinstance(value, list | tuple) and any(_holds_text(entry, depth + 1) for entry in value)


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)
