"""Logfire's ``@instrument`` with the result recorded too, sending nothing."""

# it is not installed here
# mypy: ignore-errors

import logfire
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from benchmarks.bare import NullExporter
from benchmarks.subjects.subject import Subject


def subject(form: str) -> Subject:
    exporter = NullExporter()
    logfire.configure(
        send_to_logfire=False,
        console=False,
        metrics=False,
        additional_span_processors=[SimpleSpanProcessor(exporter)],
    )
    return Subject(logfire.instrument(record_return=True, allow_generator=True), exporter)
