"""A finding of `tracehooks doctor`."""

from dataclasses import dataclass
from typing import Literal

Grade = Literal["ok", "note", "bad"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, how it is, and what to do about it. Only ``bad`` keeps the product from working."""

    grade: Grade
    about: str
    what: str
    remedy: str = ""
