"""Looking into finished spans."""

from typing import Any

import orjson
from opentelemetry.sdk.trace import ReadableSpan

from tracehooks.testing import MemoryExporter


def only(memory: MemoryExporter) -> ReadableSpan:
    (span,) = memory.spans
    return span


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def recorded(span: ReadableSpan, what: str) -> Any:
    """The value of ``tracehooks.input`` or ``.output``, decoded; KeyError when there is none."""
    return orjson.loads(attributes(span)[f"tracehooks.{what}"])


def status(span: ReadableSpan) -> str:
    return span.status.status_code.name


def trace_of(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"{span.context.trace_id:032x}"


def id_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return int(span.context.span_id)


def parent_of(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


def named(memory: MemoryExporter, name: str) -> ReadableSpan:
    (span,) = [span for span in memory.spans if span.name == name]
    return span
