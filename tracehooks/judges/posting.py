"""Posting: a judge's questions that go into a batch instead of being asked, and are answered by it later."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

from tracehooks.records import NOWHERE, TraceRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """One question on its way through a batch.

    ``custom_id`` names the scored call and how many questions there were about it before. ``question`` is the
    fingerprint of all that makes a reply, ``nonce`` that of its prompt, ``body`` the request. ``status`` and
    ``reply``, the HTTP status and the decoded body, are None until it is answered.
    """

    custom_id: str
    question: str
    nonce: str
    body: Mapping[str, Any]
    status: int | None = None
    reply: Any = None


class Post(Protocol):
    """What takes questions for a batch, or brings what came back."""

    def find(self, custom_id: str, question: str) -> Letter | None:
        """The answered letter of a question; None when there is none."""
        ...

    def put(self, letter: Letter, judge: Any) -> bool:
        """Whether the question, which ``judge`` was asked, is answered later; else it is asked now."""
        ...


@dataclass(slots=True)
class _Asked:
    call: TraceRef
    questions: int = 0


_POST: ContextVar[Post | None] = ContextVar("tracehooks_judge_post", default=None)
_ASKED: ContextVar[_Asked | None] = ContextVar("tracehooks_judge_asked", default=None)


def current_post() -> Post | None:
    """The post that judges use here, if any."""
    return _POST.get()


@contextmanager
def posting(post: Post | None) -> Iterator[None]:
    """Within it, and in all tasks begun within it, judges use ``post``; None for none."""
    token = _POST.set(post)
    try:
        yield
    finally:
        _POST.reset(token)


@contextmanager
def asking_about(call: TraceRef) -> Iterator[None]:
    """Within it judges are asked about ``call``."""
    token = _ASKED.set(None if call == NOWHERE else _Asked(call))
    try:
        yield
    finally:
        _ASKED.reset(token)


def next_custom_id() -> str | None:
    """What the next question here is called in a batch; None when it is about no call that is known."""
    asked = _ASKED.get()
    if asked is None:
        return None
    asked.questions += 1
    return f"{asked.call.trace_id}-{asked.call.span_id}-{asked.questions - 1}"
