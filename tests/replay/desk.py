"""Agents for replays to ask, in every shape, and with the faults that agents have."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from tracehooks import traced

CALLED: list[str] = []
"""The tools that really ran."""
ASKED: list[Any] = []
"""What the agents were given."""


@traced(kind="tool")
def stock(item: str) -> dict[str, Any]:
    CALLED.append(item)
    return {"item": item, "left": 7}


@traced(kind="retriever")
def search(query: str) -> list[str]:
    return ["Routers have a warranty of 24 months."]


@traced(name="desk", version="7")
def answer(question: str) -> str:
    ASKED.append(question)
    if "many" in question:
        return f"There are {stock('router')['left']} left."
    if "fail" in question:
        raise ValueError("the desk is on fire")
    if "silent" in question:
        return ""
    return " ".join(search(question))


def undecorated(question: str) -> str:
    return f"plain: {question}"


async def awaited(question: str) -> str:
    return f"awaited: {question}"


def streamed(question: str) -> Iterator[str]:
    yield "str"
    yield "eamed"


async def streamed_async(messages: Sequence[dict[str, Any]]) -> AsyncIterator[str]:
    ASKED.append(messages)
    yield "asy"
    yield "nc"


@traced(name="decorated-stream")
def decorated(question: str) -> Iterator[str]:
    yield from ("deco", "rated")


class Bot:
    """An agent that is an object."""

    def ask(self, question: str) -> str:
        return f"bot: {question}"


bot = Bot()


def slow(question: str) -> str:
    time.sleep(5)
    return "too late"


def own_timeout(question: str) -> str:
    raise TimeoutError("the database gave up")


def down(question: str) -> str:
    raise ConnectionError("no model today")


def leaves(question: str) -> str:
    raise SystemExit(0)


async def leaves_async(question: str) -> str:
    raise SystemExit(0)


async def cancels_itself(question: str) -> str:
    raise asyncio.CancelledError
