"""Two texts beside each other, word by word."""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

LONGEST = 4000
"""Words that are compared at most; longer texts are shown unmarked."""
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text: in both texts, ``gone`` from the first, or ``came`` with the second."""

    kind: Literal["same", "gone", "came"]
    text: str


def differences(before: str, after: str) -> tuple[list[Piece], list[Piece]]:
    """The pieces of ``before`` (same and gone) and of ``after`` (same and came), in order."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    if len(old) > LONGEST or len(new) > LONGEST:
        return [Piece("same", before)], [Piece("same", after)]
    left: list[Piece] = []
    right: list[Piece] = []
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            left.append(Piece("same", "".join(old[i:j])))
            right.append(Piece("same", "".join(new[k:m])))
        else:
            left += [Piece("gone", "".join(old[i:j]))] if j > i else []
            right += [Piece("came", "".join(new[k:m]))] if m > k else []
    return left, right
