"""All dialects, and what they say together about one span."""

from collections.abc import Iterator

from tracehooks.calls import (
    genai,
    google_adk,
    langfuse,
    langsmith,
    mlflow,
    native,
    openinference,
    openllmetry,
    pydantic_ai,
    vercel,
)
from tracehooks.calls.dialect import AGENTS, Attributes, Dialect, Kind, Passage
from tracehooks.calls.span import SpanRecord

# The more special first: where two know of a text, the first one's place is taken.
DIALECTS: tuple[Dialect, ...] = (
    native.DIALECT,
    langfuse.DIALECT,
    openinference.DIALECT,
    openllmetry.DIALECT,
    pydantic_ai.DIALECT,
    google_adk.DIALECT,
    vercel.DIALECT,
    langsmith.DIALECT,
    mlflow.DIALECT,
    genai.DIALECT,
)
_MARKERS = frozenset(marker for dialect in DIALECTS for marker in dialect.markers)
_OURS, _FOREIGN = DIALECTS[:1], DIALECTS[1:]
_SCOPES = (*google_adk.SCOPES, pydantic_ai.OPENAI_AGENTS)


def is_known(scope: str, attributes: Attributes) -> bool:
    """Whether any dialect may have something to say of such a span. Cheap: for every span of a process."""
    return not _MARKERS.isdisjoint(attributes) or scope in _SCOPES


def kind_of(name: str, scope: str, attributes: Attributes) -> Kind:
    """What a span is. Agent beats whatever another dialect says of the same span."""
    if not is_known(scope, attributes):
        return Kind.STEP
    if attributes.get(native.INTERNAL):
        return Kind.INTERNAL
    if attributes.get(pydantic_ai.SPAN_TYPE) == pydantic_ai.PENDING:
        return Kind.STEP
    if scope == native.SCOPE:
        return native.kind(name, scope, attributes) or Kind.STEP
    said: Kind | None = None
    for dialect in _FOREIGN:
        kind = dialect.kind(name, scope, attributes)
        if kind in AGENTS:
            return kind
        said = said or kind
    return said or Kind.STEP


def outputs_of(span: SpanRecord) -> Iterator[Passage]:
    """Where ``span`` may have recorded what was said, best place first."""
    for dialect in _dialects_of(span):
        yield from dialect.outputs(span)


def inputs_of(span: SpanRecord) -> Iterator[Passage]:
    """Where ``span`` may have recorded what was asked, best place first."""
    for dialect in _dialects_of(span):
        yield from dialect.inputs(span)


def _dialects_of(span: SpanRecord) -> tuple[Dialect, ...]:
    return _OURS if span.scope == native.SCOPE else _FOREIGN
