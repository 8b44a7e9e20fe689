"""OpenInference's ``@tracer.agent`` on its own tracer provider."""

# it is not installed here
# mypy: ignore-errors

from openinference.instrumentation import TracerProvider

from benchmarks.bare import NullExporter, null_provider
from benchmarks.subjects.subject import Subject


def subject(form: str) -> Subject:
    exporter = NullExporter()
    tracer = null_provider(exporter, kind=TracerProvider).get_tracer("benchmarks")
    return Subject(lambda function: tracer.agent(name=function.__name__)(function), exporter)
