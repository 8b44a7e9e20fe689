"""The text to judge where a team says it is: the setting ``text: $.output.reply``.

A path begins with ``$.output``, ``$.input`` or ``$.metadata`` of the agent's own span, and goes on with keys
(``.reply``, ``['the reply']``), places in a list (``[0]``, ``[-1]``) and ``[*]`` for all of them, whose texts
are joined by a line feed. JSON inside strings is opened on the way.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tracehooks.calls.decoding import decode
from tracehooks.calls.dialect import AGENTS, Kind
from tracehooks.calls.dialects import inputs_of, kind_of, outputs_of
from tracehooks.calls.span import SpanRecord
from tracehooks.calls.text import agent_words

ATTRIBUTE = "tracehooks.text"
SOURCE = "tracehooks.text_path"

_STEP = re.compile(r"""\.([\w-]+)|\[(-?\d+|\*)\]|\[(?:'([^']*)'|"([^"]*)")\]""")
_PARTS = ("output", "input", "metadata")
_METADATA = ("langfuse.observation.metadata.", "tracehooks.metadata.")
_ALL = "*"


@dataclass(frozen=True, slots=True)
class TextPath:
    """Where a text lies, read from a setting by :meth:`parse`."""

    text: str
    part: str
    steps: tuple[str | int, ...]

    @classmethod
    def parse(cls, text: str) -> "TextPath":
        """The path that ``text`` writes. Raises ValueError saying how one looks."""
        steps, place = [], 1
        while text.startswith("$") and (match := _STEP.match(text, place)):
            steps.append(_step(match))
            place = match.end()
        if place != len(text) or not steps or steps[0] not in _PARTS:
            raise ValueError(
                f"{text!r} is no path such as $.output.reply, $.output.messages[-1] or $.metadata.answer"
            )
        return cls(text, str(steps[0]), tuple(steps[1:]))

    def read(self, span: SpanRecord) -> str | None:
        """The text there; None when nothing is, or no words are in it."""
        for value in _ROOTS[self.part](span):
            found = list(_walk(value, self.steps))
            words = "\n".join(text for each in found if (text := _words(each)))
            if words.strip():
                return words
        return None


def with_named_text(spans: Iterable[SpanRecord], path: TextPath | None) -> list[SpanRecord]:
    """``spans``, each that may be a call with the text that ``path`` finds in it noted down.

    Where it finds none the span stays as it is, and its text is looked for in the usual places.
    """
    if path is None:
        return list(spans)
    return [_noted(span, path) if _may_be_call(span) else span for span in spans]


def _noted(span: SpanRecord, path: TextPath) -> SpanRecord:
    text = path.read(span)
    if text is None:
        return span
    return replace(span, attributes={**span.attributes, ATTRIBUTE: text, SOURCE: path.text})


def _may_be_call(span: SpanRecord) -> bool:
    return kind_of(span.name, span.scope, span.attributes) in AGENTS | {Kind.ENTRY}


def _step(match: re.Match[str]) -> str | int:
    name, place, single, double = match.groups()
    if place is not None:
        return place if place == _ALL else int(place)
    return next(key for key in (name, single, double) if key is not None)


def _walk(value: Any, steps: tuple[str | int, ...]) -> Iterable[Any]:
    value, _ = decode(value)
    if not steps:
        return [value]
    step, rest = steps[0], steps[1:]
    if isinstance(value, list | tuple):
        if step == _ALL:
            return [found for each in value for found in _walk(each, rest)]
        if isinstance(step, int) and -len(value) <= step < len(value):
            return _walk(value[step], rest)
    if isinstance(value, Mapping) and step in value:
        return _walk(value[str(step)], rest)
    return []


def _words(value: Any) -> str | None:
    return value if isinstance(value, str) else agent_words(value).text


def _metadata(span: SpanRecord) -> Iterable[Any]:
    named = {
        name.removeprefix(prefix): value
        for prefix in _METADATA
        for name, value in span.attributes.items()
        if name.startswith(prefix)
    }
    return [named, span.attributes.get("tracehooks.metadata"), dict(span.attributes)]


_ROOTS: Mapping[str, Callable[[SpanRecord], Iterable[Any]]] = {
    "output": lambda span: (passage.value for passage in outputs_of(span)),
    "input": lambda span: (passage.value for passage in inputs_of(span)),
    "metadata": _metadata,
}
