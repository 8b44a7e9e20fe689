"""Memory: the replies that questions had before, so that the same one is not paid for twice."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

import orjson


class Memory(Protocol):
    """What keeps replies by what made them."""

    def place(self, question: str) -> str:
        """Where the reply of this question belongs: the second time that it is asked is another place."""
        ...

    def recall(self, place: str) -> tuple[str, str | None] | None:
        """The reply and its model; None when there is none."""
        ...

    def keep(self, place: str, reply: str, model: str | None) -> None:
        """Keep a reply that led to a verdict."""
        ...


_MEMORY: ContextVar[Memory | None] = ContextVar("tracehooks_judge_memory", default=None)


def current_memory() -> Memory | None:
    """The memory that judges use here, if any."""
    return _MEMORY.get()


@contextmanager
def remembering(memory: Memory | None) -> Iterator[None]:
    """Within it, and in all tasks begun within it, judges use ``memory``; None for none."""
    token = _MEMORY.set(memory)
    try:
        yield
    finally:
        _MEMORY.reset(token)


def fingerprint(parts: Mapping[str, Any]) -> str:
    """The SHA-256 of everything that makes a reply, in hex."""
    text = orjson.dumps(parts, default=str, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    return hashlib.sha256(text).hexdigest()
