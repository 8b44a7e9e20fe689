"""Scores as OpenTelemetry events on the judged spans, and as metrics, for any backend that takes them.

Each score becomes one ``gen_ai.evaluation.result`` event (a log record with that event name), parented to the
judged span by its trace and span id, whichever process made the span and however long ago, as the GenAI
semantic conventions say (model/gen-ai/events.yaml of open-telemetry/semantic-conventions-genai). The
metrics are a histogram of the values by score name, and a counter of what could not be scored, by reason.
"""

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from opentelemetry import _logs as logs
from opentelemetry import metrics
from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

from tracehooks.errors import ConfigurationError
from tracehooks.protocols import Delivery, Receipt
from tracehooks.records import Status
from tracehooks.settings import Settings

EVENT = "gen_ai.evaluation.result"
NAME = "gen_ai.evaluation.name"
VALUE = "gen_ai.evaluation.score.value"
LABEL = "gen_ai.evaluation.score.label"
EXPLANATION = "gen_ai.evaluation.explanation"
ERROR_TYPE = "error.type"
AGENT_NAME = "gen_ai.agent.name"
ENVIRONMENT = "deployment.environment.name"
SERVICE = "service.name"
SCORE_ID = "tracehooks.score.id"
REVISION = "tracehooks.score.revision"
SCOPE = "tracehooks"
HISTOGRAM = "tracehooks.evaluation.score"
COUNTER = "tracehooks.evaluation.unscored"
BOUNDARIES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
ENDPOINT, LOGS_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"
METRICS_ENDPOINT = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
FLUSH_MILLISECONDS = 5000
REMEMBERED = 10_000  # scores whose second delivery would be told from their first


class Outlet(Protocol):
    """Where log records go. ``send`` is called after some were emitted."""

    provider: Any

    def send(self) -> bool:
        """Send what was emitted; False when it did not arrive and is to be emitted again."""
        ...


class OtelSink:
    """Emits scores through the application's LoggerProvider and MeterProvider, the global ones unless given.

    Where the application has set none, they go to the OTLP endpoint that the ``OTEL_*`` variables name, from
    a ``resource`` with these attributes.
    Raises ConfigurationError when there is neither.
    """

    wants_unscored = True

    def __init__(
        self,
        logger_provider: Any = None,
        meter_provider: Any = None,
        *,
        resource: Mapping[str, str] | None = None,
    ) -> None:
        self._resource = resource or {}
        self._logger_provider, self._meter_provider = logger_provider, meter_provider
        self._lock = threading.Lock()
        self._own_outlet: Outlet | None = None
        self._own_meters: Any = None
        self._instruments: tuple[Any, Any, Any] | None = None
        self._seen: OrderedDict[tuple[str, int], None] = OrderedDict()
        if logger_provider is None and not _is_real(logs.get_logger_provider()) and not _endpoint():
            raise ConfigurationError(
                "sink otel: there is no LoggerProvider and no endpoint. Call set_logger_provider() before "
                f"tracehooks.init(), or set {ENDPOINT}."
            )

    @classmethod
    def from_settings(cls, settings: Settings) -> "OtelSink":
        """The sink for the global providers, and for the service that the settings name."""
        return cls(resource={SERVICE: settings.service, ENVIRONMENT: settings.environment})

    def deliver(self, scores: Sequence[Delivery]) -> list[Receipt]:
        """Emit ``scores``; one that was emitted before in the same revision is not emitted again."""
        with self._lock:
            outlet = self._outlet()
            logger = outlet.provider.get_logger(SCOPE)
            fresh = [score for score in scores if (score.id, score.revision) not in self._seen]
            for delivery in fresh:
                if delivery.score.status is not Status.SKIPPED:
                    logger.emit(**_event(delivery))
            if not outlet.send():
                return [_refused(score) for score in scores]
            self._measure(fresh)
            self._remember(fresh)
        return [Receipt(id=score.id, accepted=True) for score in scores]

    def _outlet(self) -> Outlet:
        given = self._logger_provider
        if given is None and _is_real(logs.get_logger_provider()):
            given = logs.get_logger_provider()
        if given is not None:
            return _Applications(given)
        if self._own_outlet is None:
            from tracehooks.exporters.otlp_logs import OtlpOutlet

            self._own_outlet = OtlpOutlet(self._resource)
        return self._own_outlet

    def _measure(self, deliveries: Sequence[Delivery]) -> None:
        provider = self._meters()
        if provider is None:
            return
        histogram, counter = self._instruments_of(provider)
        for delivery in deliveries:
            score, attributes = delivery.score, _labels(delivery)
            if score.status is Status.UNSCORED:
                counter.add(1, {**attributes, ERROR_TYPE: str(score.reason_code)})
            elif isinstance(score.value, float):
                histogram.record(score.value, attributes)
        if provider is self._own_meters:
            provider.force_flush(FLUSH_MILLISECONDS)

    def _meters(self) -> Any:
        if self._meter_provider is not None:
            return self._meter_provider
        if _is_real(metrics.get_meter_provider()):
            return metrics.get_meter_provider()
        if self._own_meters is None and _endpoint(METRICS_ENDPOINT):
            from tracehooks.exporters.otlp_logs import own_meters

            self._own_meters = own_meters(self._resource)
        return self._own_meters

    def _instruments_of(self, provider: Any) -> tuple[Any, Any]:
        if self._instruments is None or self._instruments[0] is not provider:
            meter = provider.get_meter(SCOPE)
            histogram = meter.create_histogram(
                HISTOGRAM,
                unit="1",
                description="Values of scores, by their name.",
                explicit_bucket_boundaries_advisory=BOUNDARIES,
            )
            counter = meter.create_counter(
                COUNTER, unit="{score}", description="Calls that could not be scored, by the reason."
            )
            self._instruments = provider, histogram, counter
        return self._instruments[1], self._instruments[2]

    def _remember(self, deliveries: Sequence[Delivery]) -> None:
        for delivery in deliveries:
            self._seen[delivery.id, delivery.revision] = None
        while len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)


class _Applications:
    """The application's provider; what becomes of the records is its own affair."""

    def __init__(self, provider: Any) -> None:
        self.provider = provider

    def send(self) -> bool:
        if _is_real(self.provider):
            self.provider.force_flush(FLUSH_MILLISECONDS)
        return True


def _is_real(provider: Any) -> bool:
    """Whether it exports: the API's own stand-ins, for when nobody set one, have nothing to flush."""
    return hasattr(provider, "force_flush")


def _endpoint(special: str = LOGS_ENDPOINT) -> str | None:
    return os.environ.get(special) or os.environ.get(ENDPOINT) or None


def _event(delivery: Delivery) -> dict[str, Any]:
    score = delivery.score
    attributes: dict[str, Any] = {
        **_labels(delivery),
        SCORE_ID: delivery.id,
        REVISION: delivery.revision,
        ENVIRONMENT: delivery.environment,
    }
    label = score.value if isinstance(score.value, str) else score.metadata.get("band")
    if isinstance(score.value, float):
        attributes[VALUE] = score.value
    if isinstance(label, str):
        attributes[LABEL] = label
    if score.comment:
        attributes[EXPLANATION] = score.comment
    if score.status is Status.UNSCORED:
        attributes[ERROR_TYPE] = str(score.reason_code)
    return {
        "event_name": EVENT,
        "timestamp": int(delivery.time.timestamp() * 1_000_000) * 1000,
        "observed_timestamp": time.time_ns(),
        "severity_number": logs.SeverityNumber.INFO,
        "attributes": attributes,
        "context": _on_the_span(delivery),
    }


def _labels(delivery: Delivery) -> dict[str, Any]:
    """What events and metrics share; few values each."""
    labels = {NAME: delivery.score.name}
    if delivery.call is not None and delivery.call.name:
        labels[AGENT_NAME] = delivery.call.name
    return labels


def _on_the_span(delivery: Delivery) -> Context:
    target = delivery.score.target
    if target is None:
        return Context()
    judged = SpanContext(
        trace_id=int(target.trace_id, 16),
        span_id=int(target.span_id, 16),
        is_remote=True,
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
    )
    return set_span_in_context(NonRecordingSpan(judged), Context())


def _refused(delivery: Delivery) -> Receipt:
    return Receipt(id=delivery.id, accepted=False, error="the OTLP endpoint did not take the events")
