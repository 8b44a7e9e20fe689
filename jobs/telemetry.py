"""What a run says of itself to OpenTelemetry: one span and two metrics, apart from what it observes.

They are marked as internal, so that no night takes them for a call of an agent.
"""

import os
from collections.abc import Mapping
from datetime import datetime
from math import inf
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.context import Context
from opentelemetry.trace import Status, StatusCode

from tracehooks.records import EPOCH
from tracehooks.store import RunRecord
from tracehooks.tracing.semconv import INTERNAL

SPAN = "tracehooks.run"
DURATION = "tracehooks.run.duration"
ITEMS = "tracehooks.run.items"
SCOPE = "tracehooks"
SERVICE = "tracehooks"
TRACES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
METRICS = ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
FLUSH_MILLISECONDS = 5000


class Telemetry:
    """Records runs on the application's providers, the global ones unless given.

    Where there are none, it has its own for the OTLP endpoint of the environment; else it does nothing.
    """

    def __init__(self, tracer_provider: Any = None, meter_provider: Any = None) -> None:
        self._own: list[Any] = []
        self._tracers = tracer_provider or self._found(trace.get_tracer_provider(), TRACES, _own_tracers)
        self._meters = meter_provider or self._found(metrics.get_meter_provider(), METRICS, _own_meters)

    def record(self, run: RunRecord) -> None:
        """Say how ``run`` went, which has come to its end."""
        ended = run.ended or run.started
        if self._tracers is not None:
            self._span(run, ended)
        if self._meters is not None:
            self._measure(run, (ended - run.started).total_seconds())
        for provider in self._own:
            provider.force_flush(FLUSH_MILLISECONDS)

    def close(self) -> None:
        """Send what is left, where the providers are its own."""
        for provider in self._own:
            provider.shutdown()

    def _found(self, provider: Any, endpoints: tuple[str, ...], make: Any) -> Any:
        if hasattr(provider, "force_flush"):  # the API's stand-ins have nothing to flush
            return provider
        if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
            return None
        if not any(os.environ.get(name) for name in endpoints):
            return None
        self._own.append(make())
        return self._own[-1]

    def _span(self, run: RunRecord, ended: datetime) -> None:
        span = self._tracers.get_tracer(SCOPE).start_span(
            SPAN, context=Context(), start_time=_nanos(run.started), attributes=_attributes(run)
        )
        if run.state != "finished":
            reason = run.reasons[0] if run.reasons else run.state
            span.set_status(Status(StatusCode.ERROR, reason))
        span.end(_nanos(ended))

    def _measure(self, run: RunRecord, seconds: float) -> None:
        meter = self._meters.get_meter(SCOPE)
        labels = {"tracehooks.job": run.job, "tracehooks.run.state": run.state}
        duration = meter.create_histogram(DURATION, unit="s", description="How long runs took.")
        duration.record(seconds, {**labels, "tracehooks.run.verdict": str(run.verdict or "none")})
        items = meter.create_counter(ITEMS, unit="{call}", description="Calls that runs had to judge.")
        for status, count in _by_status(run.counts).items():
            items.add(count, {"tracehooks.job": run.job, "tracehooks.status": status})


def _attributes(run: RunRecord) -> dict[str, Any]:
    counts = {f"tracehooks.run.{status}": count for status, count in _by_status(run.counts).items()}
    return {
        INTERNAL: True,
        "tracehooks.job": run.job,
        "tracehooks.run.id": run.id,
        "tracehooks.run.state": run.state,
        "tracehooks.run.verdict": str(run.verdict or "none"),
        "tracehooks.run.window_start": run.window_start.isoformat(),
        "tracehooks.run.window_end": run.window_end.isoformat(),
        **counts,
    }


def _by_status(counts: Mapping[str, Any]) -> dict[str, int]:
    """How many of a run's calls ended how; reasons are summed up."""
    found = {status: counts.get(status) or 0 for status in ("scored", "unscored", "skipped")}
    return {status: sum(n.values()) if isinstance(n, Mapping) else n for status, n in found.items()}


def _nanos(time: datetime) -> int:
    return int((time - EPOCH).total_seconds() * 1_000_000) * 1000


def _own_tracers() -> Any:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=Resource.create({"service.name": SERVICE}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def _own_meters() -> Any:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource

    reader = PeriodicExportingMetricReader(OTLPMetricExporter(), export_interval_millis=inf)
    return MeterProvider([reader], Resource.create({"service.name": SERVICE}), shutdown_on_exit=False)
