"""The OTLP backends that get the spans beside the store: those that ``OTEL_*`` and the settings name."""

import os
from typing import TYPE_CHECKING

from tracehooks.settings import Settings
from tracehooks.tracing.trouble import trouble

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

OF_ENVIRONMENT = "otlp"  # its name in the counts; those of the settings are otlp.NAME
ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
EXPORTERS = "OTEL_TRACES_EXPORTER"
DISABLED = "OTEL_SDK_DISABLED"
HTTP = "http/protobuf"
PATH = "/v1/traces"


def span_exporters(settings: Settings) -> "dict[str, SpanExporter]":
    """The exporters, by their names in the counts."""
    if os.environ.get(DISABLED, "").strip().lower() == "true":
        return {}
    of_environment = _is_in_environment()
    if not settings.otlp and not of_environment:
        return {}
    from tracehooks.exporters.otlp import OtlpSpanExporter

    exporters: dict[str, SpanExporter] = {}
    if of_environment:
        # an application's provider has an exporter for it already, and nothing is to be sent twice
        exporters[OF_ENVIRONMENT] = OtlpSpanExporter(only_private=True)
    for name, backend in settings.otlp.items():
        headers = {key: value.get_secret_value() for key, value in backend.headers.items()}
        full = f"{OF_ENVIRONMENT}.{name}"
        exporters[full] = OtlpSpanExporter(_of_traces(backend.endpoint), headers, name=full)
    return exporters


def _is_in_environment() -> bool:
    environ = os.environ
    exporters = environ.get(EXPORTERS, "").strip() or OF_ENVIRONMENT
    named = any(name.strip().startswith(OF_ENVIRONMENT) for name in exporters.split(","))
    return named and any(environ.get(name) for name in ENDPOINTS) and _is_http()


def _is_http() -> bool:
    for name in PROTOCOLS:
        protocol = os.environ.get(name, "").strip()
        if protocol:
            if protocol != HTTP:
                trouble("sending spans to otlp", f"{name} is {protocol}, and only {HTTP} is spoken here")
            return protocol == HTTP
    return True


def _of_traces(endpoint: str) -> str:
    """The address for traces below a collector's address."""
    return endpoint if endpoint.endswith(PATH) else endpoint.rstrip("/") + PATH
