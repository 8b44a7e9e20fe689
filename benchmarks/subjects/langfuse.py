"""Langfuse's ``@observe``: its client with the exporter replaced through its own option."""

# it is not installed here
# mypy: ignore-errors

from langfuse import Langfuse, observe
from opentelemetry.sdk.trace import TracerProvider

from benchmarks.bare import NullExporter
from benchmarks.subjects.subject import Subject


def subject(form: str) -> Subject:
    exporter = NullExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    Langfuse(
        public_key="pk-lf-bench",
        secret_key="sk-lf-bench",
        base_url="http://127.0.0.1:9",
        tracer_provider=provider,
        span_exporter=exporter,
    )
    return Subject(observe(as_type="agent"), exporter, settle=provider.force_flush)
