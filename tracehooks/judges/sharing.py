"""Sharing: what several senders tell each other, so that together they ask no more than one may."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """What a sender has to say: ``most`` as in its settings, what it ``wanted`` to have under way, what is.

    ``answered`` counts answers since it last spoke. ``limited`` is how many seconds ago a request was sent
    that was answered 429, ``wait`` what the server asked to wait, in seconds.
    """

    most: int
    wanted: int
    under_way: int
    answered: int = 0
    limited: float | None = None
    wait: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What a sender may have: ``places`` requests at once, a ``part`` (0 to 1) of what goes out in a minute.

    ``allowed`` is what all senders together may have at once now. ``held`` seconds nobody sends. ``short``
    says that it is less than its due, because others have yet to give some back. It holds for ``lasts``
    seconds.
    """

    places: int
    part: float
    allowed: int
    held: float = 0.0
    short: bool = False
    lasts: float = 10.0


class Sharing(Protocol):
    """Where senders tell their news, and get their shares."""

    def renew(self, judge: str, sender: str, news: News) -> Share:
        """A share for some seconds, in place of the one before."""
        ...

    def leave(self, judge: str, sender: str) -> None:
        """Give a share back."""
        ...
