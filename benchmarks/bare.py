"""What is compared with: an OpenTelemetry span written by hand, its two attributes serialised with orjson.

As careful hands write it: nothing is serialised for a span that is not sampled.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import orjson
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON
from opentelemetry.trace import Span, Tracer

Function = Callable[..., Any]


class NullExporter(SpanExporter):
    """Counts spans, and does nothing else with them."""

    def __init__(self) -> None:
        self.spans = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.spans += len(spans)
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        pass


def null_provider(
    exporter: SpanExporter, *, sampled: bool = True, kind: type[TracerProvider] = TracerProvider
) -> TracerProvider:
    """A provider with OpenTelemetry's own simple processor in front of ``exporter``."""
    provider = kind(sampler=ALWAYS_ON if sampled else ALWAYS_OFF, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider


def sync_span(tracer: Tracer, function: Function, parameter: str) -> Function:
    def call(value: Any) -> Any:
        with tracer.start_as_current_span(function.__name__) as span:
            _put(span, "input", {parameter: value})
            result = function(value)
            _put(span, "output", result)
            return result

    return call


def async_span(tracer: Tracer, function: Function, parameter: str) -> Function:
    async def call(value: Any) -> Any:
        with tracer.start_as_current_span(function.__name__) as span:
            _put(span, "input", {parameter: value})
            result = await function(value)
            _put(span, "output", result)
            return result

    return call


def generator_span(tracer: Tracer, function: Function, parameter: str) -> Function:
    def call(value: Any) -> Iterator[Any]:
        with tracer.start_as_current_span(function.__name__) as span:
            _put(span, "input", {parameter: value})
            chunks = []
            for chunk in function(value):
                chunks.append(chunk)
                yield chunk
            _put(span, "output", "".join(chunks))

    return call


def async_generator_span(tracer: Tracer, function: Function, parameter: str) -> Function:
    async def call(value: Any) -> AsyncIterator[Any]:
        with tracer.start_as_current_span(function.__name__) as span:
            _put(span, "input", {parameter: value})
            chunks = []
            async for chunk in function(value):
                chunks.append(chunk)
                yield chunk
            _put(span, "output", "".join(chunks))

    return call


def _put(span: Span, name: str, value: Any) -> None:
    if span.is_recording():
        span.set_attribute(name, orjson.dumps(value).decode())
