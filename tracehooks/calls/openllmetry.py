"""OpenLLMetry (Traceloop): its decorators and its instrumentations of LangChain, CrewAI, OpenAI and others.

A ``workflow`` or ``agent`` is an agent span, a ``task`` a step, a ``tool`` an aside. Prompts and completions
are spread over numbered attributes (``gen_ai.completion.0.content``) in its older releases.
"""

from collections.abc import Iterator
from typing import Any

from tracehooks.calls.decoding import decode
from tracehooks.calls.dialect import Attributes, Dialect, Kind, Passage, indexed
from tracehooks.calls.span import SpanRecord

KIND = "traceloop.span.kind"
INPUT = "traceloop.entity.input"
OUTPUT = "traceloop.entity.output"
PROMPT = "gen_ai.prompt"
COMPLETION = "gen_ai.completion"
REQUEST_TYPE = "llm.request.type"
ASSOCIATION = "traceloop.association.properties."

_KINDS = {"workflow": Kind.AGENT, "agent": Kind.AGENT, "task": Kind.STEP, "tool": Kind.ASIDE}
_REQUESTS = {"chat": Kind.MODEL, "completion": Kind.MODEL, "embedding": Kind.ASIDE, "rerank": Kind.ASIDE}


def kind(_name: str, _scope: str, attributes: Attributes) -> Kind | None:
    """What the span's kind or the type of its request says; None when it has neither."""
    return _KINDS.get(str(attributes.get(KIND))) or _REQUESTS.get(str(attributes.get(REQUEST_TYPE)))


def outputs(span: SpanRecord) -> Iterator[Passage]:
    """The entity's output, then the completions."""
    if (value := span.attributes.get(OUTPUT)) is not None:
        yield Passage(OUTPUT, value)
    if messages := _messages(span.attributes, COMPLETION, "assistant"):
        yield Passage(COMPLETION, messages)


def inputs(span: SpanRecord) -> Iterator[Passage]:
    """The entity's input, then the prompts."""
    if (value := span.attributes.get(INPUT)) is not None:
        yield Passage(INPUT, value)
    if messages := _messages(span.attributes, PROMPT, "user"):
        yield Passage(PROMPT, messages)


def _messages(attributes: Attributes, prefix: str, role: str) -> list[dict[str, Any]]:
    return [
        {"role": fields.get("role", role), "content": decode(fields.get("content"))[0]}
        for fields in indexed(attributes, prefix)
    ]


DIALECT = Dialect(
    name="openllmetry",
    markers=(KIND, REQUEST_TYPE),
    kind=kind,
    outputs=outputs,
    inputs=inputs,
    names=("traceloop.entity.name", "traceloop.workflow.name"),
    sessions=(ASSOCIATION + "session_id", ASSOCIATION + "thread_id"),
    users=(ASSOCIATION + "user_id",),
    versions=("traceloop.entity.version",),
    metadata=(ASSOCIATION,),
)
