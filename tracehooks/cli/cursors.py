"""Paging cursors: the place of a listing's last row, as one word that a shell leaves alone."""

import base64
import binascii
from collections.abc import Sequence
from datetime import datetime, timedelta

from tracehooks.errors import ConfigurationError
from tracehooks.records import EPOCH

SEPARATOR = "|"
MICROSECOND = timedelta(microseconds=1)


def cursor(start: datetime, *ids: str) -> str:
    """The word for a place in a listing: a time, exact to the microsecond, and what breaks its ties."""
    text = SEPARATOR.join([str((start - EPOCH) // MICROSECOND), *ids])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def place(word: str, ids: int) -> tuple[datetime, Sequence[str]]:
    """What :func:`cursor` was made of, with so many ids. Raises ConfigurationError for any other word."""
    try:
        padded = word + "=" * (-len(word) % 4)
        micros, *found = (
            base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii").split(SEPARATOR)
        )
        start = EPOCH + int(micros) * MICROSECOND
    except (ValueError, OverflowError, binascii.Error):
        found = []
    if len(found) != ids:
        raise ConfigurationError(
            f"--after {word!r} is no cursor; take the one that the page before ended with"
        )
    return start, found
