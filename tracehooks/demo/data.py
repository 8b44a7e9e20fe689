"""The demo's stored data, read from ``tracehooks.config``: messages, knowledge, orders and phrasings."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import yaml

Expect = Literal["answer", "silent", "bad"]
Channel = Literal["chat", "email"]

_HEADING = re.compile(r"## (?P<title>[^{]+?)(?: \{(?P<mark>\w+)\})?")
_LANGUAGES = frozenset({"de", "fr", "es"})


@dataclass(frozen=True, slots=True)
class Message:
    """One stored user message. ``expect`` says what it gets: an answer, silence, or a bad answer."""

    id: str
    kind: str
    text: str
    session: str
    user: str
    channel: Channel
    expect: Expect


@dataclass(frozen=True, slots=True)
class Passage:
    """One paragraph of the knowledge file, under the heading ``title``; answers are made of one of these."""

    title: str
    text: str
    tone: str = "plain"
    language: str = "en"


@dataclass(frozen=True, slots=True)
class Order:
    """What the shop knows about one order. ``due`` is a day as people say it."""

    item: str
    state: str
    carrier: str
    due: str


@dataclass(frozen=True, slots=True)
class Phrasings:
    """What is said around the facts: lists of phrases by mood, tone, language or state of an order."""

    moods: Mapping[str, frozenset[str]]
    languages: Mapping[str, frozenset[str]]
    openings: Mapping[str, tuple[str, ...]]
    closings: Mapping[str, tuple[str, ...]]
    unknown: Mapping[str, tuple[str, ...]]
    orders: Mapping[str, tuple[str, ...]]
    mirror: Mapping[str, str]


def _read(name: str) -> str:
    return files("tracehooks.config").joinpath("demo", name).read_text(encoding="utf-8")


@cache
def messages() -> tuple[Message, ...]:
    """The stored user messages, in the order in which they arrive."""
    return tuple(Message(**json.loads(line)) for line in _read("messages.jsonl").splitlines())


@cache
def orders() -> Mapping[str, Order]:
    """The order book: number -> order."""
    return {number: Order(**fields) for number, fields in json.loads(_read("orders.json")).items()}


@cache
def passages() -> tuple[Passage, ...]:
    """Every paragraph under a ``##`` heading of the knowledge file."""
    found: list[Passage] = []
    title, mark = "", ""
    for block in _read("knowledge.md").split("\n\n"):
        text = block.strip()
        if heading := _HEADING.fullmatch(text):
            title, mark = heading["title"], heading["mark"] or "plain"
        elif title and text:
            found.append(_passage(title, text, mark))
    return tuple(found)


def _passage(title: str, text: str, mark: str) -> Passage:
    if mark in _LANGUAGES:
        return Passage(title, text, tone=mark, language=mark)
    return Passage(title, text, tone=mark)


@cache
def phrasings() -> Phrasings:
    """The stored phrasings."""
    data: dict[str, Any] = yaml.safe_load(_read("phrasings.yaml"))
    return Phrasings(
        moods=_sets(data["moods"]),
        languages=_sets(data["languages"]),
        openings=_lists(data["openings"]),
        closings=_lists(data["closings"]),
        unknown=_lists(data["unknown"]),
        orders=_lists(data["orders"]),
        mirror={rule["when"]: rule["say"] for rule in data["mirror"]},
    )


def _sets(section: Mapping[str, list[str]]) -> dict[str, frozenset[str]]:
    return {name: frozenset(words) for name, words in section.items()}


def _lists(section: Mapping[str, list[str]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(phrases) for name, phrases in section.items()}
