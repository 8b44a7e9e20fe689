"""What a dialect is: how one family of instrumentations says what a span is and where its text lies."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from tracehooks.calls.span import SpanRecord


class Kind(StrEnum):
    """What a span is, as far as calls are concerned.

    ``agent``: a run of an agent; its outermost span is a call. ``chain``: what an agent framework calls a
    chain: at the top it is the entry into the framework and as good as an agent, below it a step. ``entry``:
    an application's own function that somebody traced without calling it an agent; it is a call only where
    nothing in its trace is an agent. ``model``: a request to a model. ``aside``: a tool, retriever, guardrail
    or evaluator; what is said below it is not said by the agent. ``internal``: our own bookkeeping, never a
    call and nothing below it either. ``step``: anything else.
    """

    AGENT = "agent"
    CHAIN = "chain"
    ENTRY = "entry"
    MODEL = "model"
    ASIDE = "aside"
    INTERNAL = "internal"
    STEP = "step"


class Passage(NamedTuple):
    """A value that may hold text, and the name of the place where it was recorded; ``cut`` if cut short."""

    source: str
    value: Any
    cut: bool = False


AGENTS = frozenset((Kind.AGENT, Kind.CHAIN))
"""The kinds of which the outermost span is a call."""

Attributes = Mapping[str, Any]
Passages = Callable[[SpanRecord], Iterable[Passage]]


def nothing(_span: SpanRecord) -> Iterable[Passage]:
    """No passages."""
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One family of instrumentations. One of these per file, named ``DIALECT``.

    ``markers`` are attributes of which a span of this dialect has at least one; for any other span nothing
    else is asked. ``kind`` says what a span is, from its name, scope and attributes, or None when it does not
    know; it is asked about every span of the process while the agent runs, so it parses nothing. ``outputs``
    and ``inputs`` list where the text may lie, best place first.

    The other fields name attributes that hold the call's name, session, user, tags (a list, JSON of one, or
    words with commas), version, environment and metadata (a JSON object, or all attributes below a prefix
    that ends with a dot).
    """

    name: str
    markers: tuple[str, ...]
    kind: Callable[[str, str, Attributes], Kind | None]
    outputs: Passages = nothing
    inputs: Passages = nothing
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
        return [Passage(name, attributes[name]) for name in names if name in attributes]

    return passages


def indexed(attributes: Attributes, prefix: str) -> list[dict[str, Any]]:
    """The messages that are spread over attributes ``prefix.0.role``, ``prefix.0.content``, and so on.

    One mapping a message, from what follows the number to the value, in the order of the numbers.
    """
    found: dict[int, dict[str, Any]] = {}
    start = prefix + "."
    for name, value in attributes.items():
        if name.startswith(start):
            number, _, rest = name[len(start) :].partition(".")
            if number.isdecimal() and rest:
                found.setdefault(int(number), {})[rest] = value
    return [found[number] for number in sorted(found)]
