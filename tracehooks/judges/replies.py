"""Decoding a judge's reply: lenient about the wrapping, strict about what is inside.

Fences, a preamble, a sentence after it, a byte order mark and trailing commas are forgiven. Two JSON objects,
a key given twice, NaN, or no object at all are not: then nobody knows what the judge meant, and a number is
never guessed out of prose.
"""

import json
import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from tracehooks.protocols import BadReply
from tracehooks.records import Reason

_START = re.compile(
    r'\{\s*["}]|\[\s*[\[{]'
)  # where JSON begins; a brace in prose is followed by something else
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]++|\\.)*+")|,(?=\s*[}\]])', re.DOTALL)
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_THINKING = re.compile(r"\s*<think>(.*?)</think>", re.DOTALL)
_BLANK = "\ufeff \t\r\n"


class Unbounded(float):
    """A number too large for a float, such as 1e400: infinite in comparisons, printed as it was written."""

    text: str

    def __new__(cls, text: str) -> "Unbounded":
        """The number that ``text`` spells."""
        number = super().__new__(cls, "-inf" if text.startswith("-") else "inf")
        number.text = text
        return number

    def __repr__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[type["Unbounded"], tuple[str]]:
        return Unbounded, (self.text,)


@dataclass(frozen=True, slots=True)
class Decoded:
    """The one JSON object of a reply, and its text as it stood there."""

    value: dict[str, Any]
    text: str


def decode(reply: str) -> Decoded:
    """The one JSON object in ``reply``. Raises BadReply (malformed) saying what is wrong."""
    text = _without_thinking(reply.strip(_BLANK))
    try:
        return _only_object(text)
    except _NotJson:
        repaired = _TRAILING_COMMA.sub(lambda match: match[1] or "", text)
        try:
            return _only_object(repaired)
        except _NotJson as error:
            raise BadReply(str(error)) from None


def read_number(value: Any, name: str, low: float, high: float) -> float:
    """``value`` as a float within ``low..high``: a JSON number, or a string that is nothing but one.

    Raises BadReply: malformed when it is no number, out_of_range with the value when it is outside.
    """
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = _float(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadReply(f"{name} must be a number, got {_short(value)}")
    if not low <= value <= high:
        raise BadReply(f"{name} must be within {low:g} to {high:g}, got {_short(value)}", Reason.OUT_OF_RANGE)
    return float(value)


def read_choice(value: Any, name: str, choices: Collection[str]) -> str:
    """The one of ``choices`` that ``value`` is, spaces around it and case aside. Raises BadReply otherwise.

    Nothing is searched for inside a longer text: "non-toxic" holds "toxic", "no doubt" begins with "no".
    """
    if isinstance(value, str):
        word = value.strip().casefold()
        if word in choices:
            return word
    raise BadReply(f"{name} must be one of {', '.join(choices)}, got {_short(value)}")


def read_text(value: Any) -> str:
    """An explanation: ``value`` when it is a text, else an empty one, for explanations may be missing."""
    return value.strip() if isinstance(value, str) else ""


def sanitized(text: str) -> str:
    """``text`` as valid UTF-8 can carry it: surrogate pairs joined, lone surrogates replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


class _NotJson(ValueError):  # noqa: N818 - repaired once, before it becomes a BadReply
    pass


def _without_thinking(text: str) -> str:
    """``text`` after the thoughts that some local models send first; a draft in them is not a verdict."""
    if not text.startswith("<think>"):
        return text
    thoughts = _THINKING.match(text)
    if thoughts is None:
        raise BadReply("the reply holds thoughts without an end, and no answer")
    return text[thoughts.end() :]


def _only_object(text: str) -> Decoded:
    found = _START.search(text)
    if found is None:
        raise BadReply("no JSON object in the reply")
    if _is_open(text[: found.start()]):
        raise BadReply("the JSON in the reply is broken: the object found lies inside something else")
    value, end = _decode_at(text, found.start())
    another = _START.search(text, end)
    if another is not None:
        raise BadReply("more than one JSON object in the reply")
    if not isinstance(value, dict):
        raise BadReply("the reply is a JSON array, not an object")
    return Decoded(value, text[found.start() : end])


def _is_open(text: str) -> bool:
    """Whether ``text`` opens a brace or bracket that it does not close: what follows is only a part."""
    return text.count("{") > text.count("}") or text.count("[") > text.count("]")


def _decode_at(text: str, start: int) -> tuple[Any, int]:
    try:
        value, end = _DECODER.raw_decode(text, start)
    except BadReply:
        raise
    except RecursionError:
        raise BadReply("the JSON in the reply is nested too deeply") from None
    except ValueError as error:
        raise _NotJson(f"the JSON in the reply is broken: {error}") from None
    return (_well_formed(value) if "\\u" in text else value), end


def _well_formed(value: Any) -> Any:
    """``value`` with every text sanitized: a ``\\ud83e`` escape alone makes a text that cannot be stored."""
    if isinstance(value, str):
        return sanitized(value)
    if isinstance(value, list):
        return [_well_formed(item) for item in value]
    if isinstance(value, dict):
        return {sanitized(key): _well_formed(item) for key, item in value.items()}
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise BadReply(f"the key {twice!r} is given twice")
    return found


def _float(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else Unbounded(text)


def _int(text: str) -> int | float:
    return int(text) if len(text) < 300 else Unbounded(text)


def _no_constant(text: str) -> Any:
    raise BadReply(f"{text} is not a number")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


# strict=False: models write line breaks inside strings
_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_float, parse_int=_int, parse_constant=_no_constant, strict=False
)
