"""Our own way to an OTLP endpoint for events and metrics, where the application has none."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk._logs import LoggerProvider, ReadableLogRecord
from opentelemetry.sdk._logs.export import (
    LogRecordExporter,
    LogRecordExportResult,
    SimpleLogRecordProcessor,
)
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource

from tracehooks.exporters.otlp_quiet import quiet


class _Collecting(LogRecordExporter):
    """Keeps what is emitted until it is sent together."""

    def __init__(self) -> None:
        self.records: list[ReadableLogRecord] = []

    def export(self, batch: Sequence[ReadableLogRecord]) -> LogRecordExportResult:
        self.records.extend(batch)
        return LogRecordExportResult.SUCCESS

    def shutdown(self) -> None:
        """Nothing to release."""

    def force_flush(self, timeout_millis: int = 10_000) -> bool:
        """Nothing to wait for."""
        return True


class OtlpOutlet:
    """A LoggerProvider whose records go out together, and of which one learns whether they arrived."""

    def __init__(self, resource: Mapping[str, str]) -> None:
        self._collected = _Collecting()
        self.provider: Any = LoggerProvider(Resource.create(resource), shutdown_on_exit=False)
        self.provider.add_log_record_processor(SimpleLogRecordProcessor(self._collected))
        self._exporter = OTLPLogExporter()

    def send(self) -> bool:
        """Send what was emitted; False when it did not arrive."""
        records, self._collected.records = self._collected.records, []
        with quiet(OTLPLogExporter):
            return not records or self._exporter.export(records) is LogRecordExportResult.SUCCESS


def own_meters(resource: Mapping[str, str]) -> Any:
    """A MeterProvider that exports over OTLP when it is flushed; it has no thread that would outlive it."""
    reader = PeriodicExportingMetricReader(OTLPMetricExporter(), export_interval_millis=inf)
    return MeterProvider([reader], Resource.create(resource), shutdown_on_exit=False)
