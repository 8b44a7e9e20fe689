"""All dialects, and what they say together about one span."""

from collections.abc import Iterator
from typing import Any

from tracehooks.calls import genai, native
from tracehooks.calls.dialect import Dialect, Kind, Passage
from tracehooks.calls.span import SpanRecord

DIALECTS: tuple[Dialect, ...] = (native.DIALECT, genai.DIALECT)


def kind_of(span: Any, scope: str) -> Kind:
    """What ``span`` is. Agent beats everything that another dialect says of the same span."""
    if span.attributes.get(native.INTERNAL):
        return Kind.INTERNAL
    if scope == native.SCOPE:
        return native.kind(span, scope) or Kind.STEP
    said: Kind | None = None
    for dialect in DIALECTS:
        kind = dialect.kind(span, scope)
        if kind is Kind.AGENT:
            return kind
        said = said or kind
    return said or Kind.STEP


def outputs_of(span: SpanRecord) -> Iterator[Passage]:
    """Where ``span`` may have recorded what was said, best place first."""
    for dialect in DIALECTS:
        yield from dialect.outputs(span)


def inputs_of(span: SpanRecord) -> Iterator[Passage]:
    """Where ``span`` may have recorded what was asked, best place first."""
    for dialect in DIALECTS:
        yield from dialect.inputs(span)
