"""Our own spans, as ``@traced`` records them (scope ``tracehooks``).

Only ``tracehooks.kind`` decides: ``agent`` is an agent span, a ``generation`` a model request, a ``tool`` or
``retriever`` an aside, a ``chain`` a step.

A value that was too long is recorded as ``{"truncated": true, "length": ..., "preview": "..."}``; its text is
what can be read of the preview.
"""

from collections.abc import Iterable
from typing import Any

import orjson

from tracehooks.calls.decoding import cut_json
from tracehooks.calls.dialect import Attributes, Dialect, Kind, Passage, Passages
from tracehooks.calls.span import SpanRecord
from tracehooks.calls.text import agent_words

SCOPE = "tracehooks"
KIND = "tracehooks.kind"
INTERNAL = "tracehooks.internal"
PARENT_AGENT = "tracehooks.parent_agent.id"
INPUT = "tracehooks.input"
OUTPUT = "tracehooks.output"

_KINDS = {
    "agent": Kind.AGENT,
    "generation": Kind.MODEL,
    "tool": Kind.ASIDE,
    "retriever": Kind.ASIDE,
    "chain": Kind.STEP,
}


def kind(_name: str, scope: str, attributes: Attributes) -> Kind | None:
    """What one of our spans is; None for anybody else's."""
    return _KINDS.get(str(attributes.get(KIND)), Kind.STEP) if scope == SCOPE else None


def _recorded(name: str) -> Passages:
    def passages(span: SpanRecord) -> Iterable[Passage]:
        value = span.attributes.get(name)
        return () if value is None else (_passage(name, value),)

    return passages


def _passage(name: str, value: Any) -> Passage:
    try:
        value = orjson.loads(value)
    except ValueError:
        return Passage(name, value)
    if isinstance(value, dict) and value.get("truncated") is True and isinstance(value.get("preview"), str):
        return Passage(name, _readable(value["preview"]), cut=True)
    if isinstance(value, str) and value[:1] in "[{" and not agent_words(value).shape:
        # "[1, 2]": what was said looks like JSON, and is not the JSON of anything else.
        return Passage(name, _as_message(name, value))
    return Passage(name, value)


def _readable(preview: str) -> Any:
    """What can be read of a preview: the beginning of a text, of its JSON, or of an object's JSON."""
    part = cut_json(preview)
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and not any(isinstance(entry, dict | list) for entry in part.values()):
        return part
    return preview


def _as_message(name: str, text: str) -> dict[str, str]:
    return {"role": "assistant" if name == OUTPUT else "user", "content": text}


DIALECT = Dialect(
    name="tracehooks",
    markers=(KIND, INTERNAL),
    kind=kind,
    outputs=_recorded(OUTPUT),
    inputs=_recorded(INPUT),
    names=("gen_ai.agent.name",),
    sessions=("session.id",),
    users=("user.id",),
    tags=("tracehooks.tags",),
    versions=("gen_ai.agent.version",),
    metadata=("tracehooks.metadata",),
)
