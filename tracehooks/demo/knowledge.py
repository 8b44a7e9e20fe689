"""Finding the paragraph that answers a question: word overlap, rare words counting more.

A question of which too little is found gets nothing rather than the least bad paragraph.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache

from tracehooks.demo.data import Passage, passages, phrasings

STEM = 6  # letters compared: "delivery" and "delivered" meet, "router" and "routine" do not
ENDINGS = ("ing", "ed", "es", "s", "e")
TITLE_WEIGHT = 0.2  # what a word of the heading adds, of what one in the paragraph adds
ENOUGH = 2.0  # summed rarity (natural log) that a paragraph must share with a question
SHARE = 0.2  # and the share of the question's own rarity,
SHARE_CAP = 5.0  # up to this much: what is asked may stand in a long story

_WORD = re.compile(r"\w+(?:-\w+)*")


def words(text: str) -> list[str]:
    """The words of ``text``, case folded, without what follows an apostrophe."""
    return _WORD.findall(re.sub(r"['’]\w+", "", text.casefold()))


class Index:
    """A searchable set of passages."""

    def __init__(self, known: Sequence[Passage]) -> None:
        self._passages = tuple(known)
        self._texts = [_stems(passage.text) for passage in self._passages]
        self._titles = [_stems(passage.title) for passage in self._passages]
        self._counts = Counter(stem for stems in self._texts for stem in stems)

    def search(self, question: str, limit: int = 3) -> list[Passage]:
        """The passages that share most with ``question``, best first; none when nothing fits."""
        asked = _stems(question)
        enough = max(ENOUGH, min(SHARE * sum(map(self._rarity, asked)), SHARE_CAP))
        scores = [self._score(asked, *stems) for stems in zip(self._texts, self._titles, strict=True)]
        best = sorted(range(len(scores)), key=lambda number: -scores[number])[:limit]
        return [self._passages[number] for number in best if scores[number] >= enough]

    def _score(self, asked: frozenset[str], text: frozenset[str], title: frozenset[str]) -> float:
        shared = sum(map(self._rarity, asked & text))
        headed = sum(map(self._rarity, asked & title))
        # a long paragraph shares words by chance
        return (shared + TITLE_WEIGHT * headed) / (0.8 + 0.08 * math.log(1 + len(text)))

    def _rarity(self, stem: str) -> float:
        return math.log(1 + len(self._passages) / (1 + self._counts[stem]))


@cache
def index() -> Index:
    """The index over the demo's knowledge file."""
    return Index(passages())


@cache
def _common() -> frozenset[str]:
    return frozenset().union(*phrasings().languages.values())


def _stems(text: str) -> frozenset[str]:
    return frozenset(_stem(word) for word in words(text) if len(word) > 1 and word not in _common())


def _stem(word: str) -> str:
    for ending in ENDINGS:
        if word.endswith(ending) and not word.endswith("ss") and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":  # shipped, dropped
        word = word[:-1]
    return word[:STEM]
