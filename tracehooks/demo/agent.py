"""The help-desk agent: two entries, a tool for orders, a retriever over the knowledge file.

>>> from tracehooks.demo import answer
>>> "24 months" in answer("How long is the warranty for a router?")
True
"""

import re
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from tracehooks import traced
from tracehooks.demo.data import Order, Passage, orders
from tracehooks.demo.knowledge import index, words
from tracehooks.demo.phrasing import mirrored, word_order, word_passage, word_unknown

NAME = "help-desk"
WATCH = "/watch"  # "/watch 10482": the customer wants a notice, not an answer

_ORDER_NUMBER = re.compile(r"(?<!\d)\d{5}(?!\d)")
_PIECE = re.compile(r"(?:\S+\s*){1,3}")


@traced(name=NAME, kind="agent")
def answer(question: str) -> str:
    """The whole answer at once. Empty when there is nothing to say."""
    return _reply(question)


@traced(name=NAME, kind="agent")
def stream(question: str) -> Iterator[str]:
    """The answer in pieces of a few words, which join to what :func:`answer` returns."""
    yield from _PIECE.findall(_reply(question))


@traced(kind="tool")
def lookup_order(number: str) -> dict[str, str] | None:
    """What the order book holds under ``number``."""
    order = orders().get(number)
    return asdict(order) if order else None


@traced(kind="tool")
def watch_order(number: str) -> dict[str, Any]:
    """Ask for a notice when the order moves."""
    return {"number": number, "watching": number in orders()}


@traced(kind="retriever")
def search_knowledge(query: str) -> list[dict[str, str]]:
    """The paragraphs of the knowledge file that fit, best first."""
    return [asdict(passage) for passage in index().search(query)]


def _reply(question: str) -> str:
    if not words(question):
        return ""
    number = _ORDER_NUMBER.search(question)
    if number and question.startswith(WATCH):
        watch_order(number[0])
        return ""
    if number:
        order = lookup_order(number[0])
        return mirrored(question) or word_order(question, number[0], Order(**order) if order else None)
    found = search_knowledge(question)
    return mirrored(question) or _from(question, found)


def _from(question: str, found: list[dict[str, str]]) -> str:
    return word_passage(question, Passage(**found[0])) if found else word_unknown(question)
