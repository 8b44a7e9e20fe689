"""The functions that are traced, and what they are given; sizes are pinned, nothing is random."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

KB = 1024
CHUNKS = 100
THREADS = 8

_SENTENCE = "You can reset the device by holding the button for ten seconds, and it will start anew. "
TEXT = (_SENTENCE * 12)[:KB]
CHUNK = "a few words "


def document(number: int) -> dict[str, Any]:
    """One of the documents of a nested input, about 500 bytes as JSON."""
    return {
        "id": f"doc-{number:04}",
        "score": round(1 / (number + 1), 6),
        "meta": {
            "source": "manual",
            "page": number,
            "tags": ["device", "reset"],
            "reviewed": number % 2 == 0,
        },
        "text": (_SENTENCE * 5)[:378],
    }


# 50 KB as JSON: a hundred nested documents
DOCUMENTS: list[dict[str, Any]] = [document(number) for number in range(100)]


def answer(question: str) -> str:
    """1 KB in, 1 KB out."""
    return TEXT


async def answer_async(question: str) -> str:
    """The same, async."""
    return TEXT


def rank(documents: list[dict[str, Any]]) -> str:
    """50 KB of nested documents in, 1 KB out."""
    return TEXT


def stream(question: str) -> Iterator[str]:
    """A generator of a hundred chunks."""
    for _ in range(CHUNKS):
        yield CHUNK


async def stream_async(question: str) -> AsyncIterator[str]:
    """The same, async."""
    for _ in range(CHUNKS):
        yield CHUNK
