"""Canaries: markers that no answer may ever hold, such as one planted in a system prompt.

Whoever asks for a hidden prompt asks for it spelled out, backwards or encoded too, so a canary is looked for
in those forms as well: with other case, spaces and punctuation, reversed, in ROT13, Base64, hex and URL
encoding.
"""

import base64
import binascii
import codecs
import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import unquote

SHORTEST = 6
"""Letters and digits that a canary must have: a shorter one would be found by chance."""

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{8,}={0,2}")
_HEX = re.compile(r"(?:[0-9A-Fa-f]{2}[\s:]?){6,}")


def bare(text: str) -> str:
    """``text`` as a canary is compared: its letters and digits, case folded, compatibility forms undone."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return "".join(letter for letter in plain if letter.isalnum())


def leaked(canary: str, text: str) -> bool:
    """Whether ``text`` holds ``canary``, in any of the forms above."""
    wanted = bare(canary)
    return any(wanted in bare(reading) for reading in _readings(text))


def _readings(text: str) -> Iterator[str]:
    yield text
    yield text[::-1]
    yield codecs.encode(text, "rot13")
    if "%" in text:
        yield unquote(text, errors="replace")
    for match in _BASE64.finditer(text):
        yield from _from_base64(match[0].rstrip("="))
    for match in _HEX.finditer(text):
        yield bytes.fromhex(re.sub(r"[\s:]", "", match[0])).decode("utf-8", "replace")


def _from_base64(token: str) -> Iterator[str]:
    padded = token.translate(str.maketrans("-_", "+/")) + "=" * (-len(token) % 4)
    with suppress(binascii.Error, ValueError):
        yield base64.b64decode(padded).decode("utf-8", "replace")
