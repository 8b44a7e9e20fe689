"""Wording a reply: the mood and language of a question, and the stored phrase that goes with it.

Which of several phrases is used follows from the question's text alone, so that the same question always gets
the same answer.
"""

import zlib
from collections.abc import Sequence

from tracehooks.demo.data import Order, Passage, phrasings
from tracehooks.demo.knowledge import words

MOODS = ("hostile", "upset", "thanks")  # the first that fits wins


def mood_of(question: str) -> str:
    """``hostile``, ``upset``, ``thanks`` or ``plain``."""
    said = set(words(question))
    return next((mood for mood in MOODS if said & phrasings().moods[mood]), "plain")


def language_of(question: str) -> str:
    """``en``, ``de``, ``fr`` or ``es`` by the commonest words; ``other`` for what none of them explains."""
    said = set(words(question))
    hits = {language: len(said & known) for language, known in phrasings().languages.items()}
    best = max(hits, key=lambda language: (hits[language], language == "en"))
    return best if hits[best] or question.isascii() else "other"


def word_passage(question: str, passage: Passage) -> str:
    """The reply that passes on ``passage``, in the passage's tone, or else in one that meets the mood."""
    manner = passage.tone if passage.tone != "plain" else mood_of(question)
    opening = _pick(phrasings().openings[manner], question, "opening")
    closing = _pick(phrasings().closings[manner], question, "closing")
    return " ".join(part for part in (opening, passage.text, closing) if part)


def word_order(question: str, number: str, order: Order | None) -> str:
    """The reply about an order; None is an order that the book does not hold."""
    if order is None:
        return _pick(phrasings().orders["unknown"], question, "order").format(number=number)
    line = _pick(phrasings().orders[order.state], question, "order")
    text = line.format(number=number, item=order.item, carrier=order.carrier, due=order.due)
    if mood_of(question) != "hostile":
        return text
    return f"{_pick(phrasings().openings['hostile'], question, 'opening')} {text}"


def word_unknown(question: str) -> str:
    """The reply when nothing is known about the matter."""
    language = language_of(question)
    manner = mood_of(question) if language == "en" else language
    return _pick(phrasings().unknown[manner], question, "unknown")


def mirrored(question: str) -> str | None:
    """The phrase of the faulty rule that answers rudeness in kind, where it fires (config/demo/README.md)."""
    if mood_of(question) != "hostile":
        return None
    said = question.casefold()
    return next((say for when, say in phrasings().mirror.items() if when in said), None)


def _pick(options: Sequence[str], question: str, slot: str) -> str:
    return options[zlib.crc32(f"{slot}|{question}".encode()) % len(options)]
