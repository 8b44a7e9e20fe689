"""What a dialect is: how one family of instrumentations says what a span is and where its text lies."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from tracehooks.calls.span import SpanRecord


class Kind(StrEnum):
    """What a span is, as far as calls are concerned.

    ``agent``: a run of an agent, or the entry into an agent framework; its outermost one is a call.
    ``entry``: an application's own function that somebody traced without calling it an agent; it is a call
    only where nothing above or below it is an agent. ``model``: a request to a model. ``aside``: a tool,
    retriever, guardrail or evaluator; what is said below it is not said by the agent. ``internal``: our own
    bookkeeping, never a call and nothing below it either. ``step``: anything else.
    """

    AGENT = "agent"
    ENTRY = "entry"
    MODEL = "model"
    ASIDE = "aside"
    INTERNAL = "internal"
    STEP = "step"


class Passage(NamedTuple):
    """A value that may hold text, and the name of the place where it was recorded."""

    source: str
    value: Any


Passages = Callable[[SpanRecord], Iterable[Passage]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One family of instrumentations. One of these per file, named ``DIALECT``.

    ``kind`` says what a span is, None when the span is not of this dialect. It gets anything with ``name``
    and ``attributes``, and the scope's name, and is asked about every span of the process: no parsing there.
    ``outputs`` and ``inputs`` list where the text may lie, best place first. The other fields name attributes
    that hold the call's name, session, user, tags (a list, or JSON of one), version and metadata (a JSON
    object, or every attribute below a prefix that ends with a dot). ``chatty`` passages hold messages only.
    """

    name: str
    kind: Callable[[Any, str], Kind | None]
    outputs: Passages
    inputs: Passages
    names: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()


def attributes_named(*names: str) -> Passages:
    """Passages from the span's attributes ``names``, in this order, those that are there."""

    def passages(span: SpanRecord) -> Iterable[Passage]:
        attributes = span.attributes
        return (Passage(name, value) for name in names if (value := attributes.get(name)) is not None)

    return passages
