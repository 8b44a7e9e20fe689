"""Which OTLP backends get the spans beside the store: the one that ``OTEL_*`` names."""

import os

from opentelemetry.sdk.trace.export import SpanExporter

from tracehooks.settings import Settings

OF_ENVIRONMENT = "otlp"  # its name in the counts
ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
EXPORTERS = "OTEL_TRACES_EXPORTER"
DISABLED = "OTEL_SDK_DISABLED"


def span_exporters(settings: Settings) -> dict[str, SpanExporter]:
    """The exporters, by their names in the counts."""
    if not _is_in_environment():
        return {}
    from tracehooks.exporters.otlp import OtlpSpanExporter

    # An application's provider has an exporter for it already, and then nothing is sent twice.
    return {OF_ENVIRONMENT: OtlpSpanExporter(only_private=True)}


def _is_in_environment() -> bool:
    environ = os.environ
    exporters = environ.get(EXPORTERS, "").strip() or OF_ENVIRONMENT
    return (
        any(name.strip().startswith(OF_ENVIRONMENT) for name in exporters.split(","))
        and environ.get(DISABLED, "").strip().lower() != "true"
        and any(environ.get(name) for name in ENDPOINTS)
    )
