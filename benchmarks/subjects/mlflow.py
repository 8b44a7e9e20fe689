"""MLflow's ``@trace`` exporting by OTLP, its exporter replaced by one that drops."""

# it is not installed here
# mypy: ignore-errors

import os

from benchmarks.bare import NullExporter
from benchmarks.subjects.subject import Subject

os.environ["MLFLOW_TRACKING_URI"] = "http://127.0.0.1:9"
os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = "http://127.0.0.1:9/v1/traces"
os.environ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"] = "http/protobuf"


def subject(form: str) -> Subject:
    import mlflow
    from mlflow.entities import SpanType
    from mlflow.tracing import provider

    exporter = NullExporter()
    provider.get_otlp_exporter = lambda: exporter  # there is no option for it

    def settle() -> None:
        provider.provider.get().force_flush()

    return Subject(mlflow.trace(span_type=SpanType.AGENT), exporter, settle=settle)
