"""Which tracer a traced call uses: the application's when it has one, ours in private when it has none.

``door`` is the one place of the process that decorated functions look at. Its ``recording`` is set when the
provider is settled; while it is not (no ``init()`` yet, or a private provider that the application's own may
still replace), ``find()`` looks whether the application has set its global provider meanwhile: at each call,
and when that provider is set.
"""

import os
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from opentelemetry import trace as otel_trace
from opentelemetry.trace import Tracer, TracerProvider

from tracehooks.errors import ConfigurationError
from tracehooks.tracing import semconv
from tracehooks.tracing.capture import MAX_BYTES, Capture
from tracehooks.tracing.global_provider import tell_when_set

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider as SdkTracerProvider

    from tracehooks.tracing.pipeline import Pipeline
    from tracehooks.tracing.processor import TracehooksProcessor


class Recording:
    """Everything a traced call needs from its surroundings. ``base`` goes onto every span."""

    __slots__ = ("base", "capture", "pipeline", "start_span")

    def __init__(
        self, tracer: Tracer, capture: Capture, pipeline: "Pipeline | None", base: Mapping[str, str]
    ) -> None:
        self.start_span = tracer.start_span
        self.capture = capture
        self.pipeline = pipeline
        self.base = base


class Door:
    """Finds the recording for a call, and lets ``init()`` and ``shutdown()`` change it."""

    def __init__(self) -> None:
        self.recording: Recording | None = None
        self.pipeline: Pipeline | None = None
        self._renew_lock()
        self._seen: TracerProvider | None = None  # the global provider that _found belongs to
        self._found: Recording | None = None
        self._private: SdkTracerProvider | None = None
        self._mask: Callable[[str], str] | None = None
        self._max_bytes = MAX_BYTES
        self._environment: str | None = None
        self._processors: weakref.WeakKeyDictionary[Any, TracehooksProcessor] = weakref.WeakKeyDictionary()

    @property
    def is_private(self) -> bool:
        """Whether spans come from a provider of ours, which nobody else gave an exporter."""
        provider = otel_trace.get_tracer_provider()
        return self._private is not None and (
            provider is self._private or isinstance(provider, otel_trace.ProxyTracerProvider)
        )

    def find(self) -> Recording | None:
        """The recording for a call now; None when there is nowhere to record to."""
        provider = otel_trace.get_tracer_provider()
        return self._found if provider is self._seen else self._look_at(provider)

    def open(
        self,
        pipeline: "Pipeline",
        *,
        provider: TracerProvider | None = None,
        mask: Callable[[str], str] | None = None,
        max_bytes: int = MAX_BYTES,
        service: str | None = None,
        environment: str | None = None,
        set_global: bool = False,
    ) -> None:
        """Record through ``pipeline`` from now on.

        Spans come from ``provider``, else from the application's global one, else from a private one that
        is made here. Raises ConfigurationError when ``provider`` takes no span processors.
        """
        if provider is not None and not _takes_processors(provider):
            raise ConfigurationError(
                f"tracer_provider: {type(provider).__name__} takes no span processors. Give an "
                "opentelemetry.sdk.trace.TracerProvider."
            )
        with self._lock:
            self.pipeline, self._mask, self._max_bytes = pipeline, mask, max_bytes
            self._environment = environment
            for processor in list(self._processors.values()):
                processor.pipeline = pipeline
            self.recording = self._private = self._seen = self._found = None
            if provider is not None:
                self.recording = self._join(provider)
                return
            self.find()
            if self.recording is None:
                self._make_private(service, set_global)
                tell_when_set(self.find)

    def close(self) -> None:
        """Record no longer, except as an application's own provider may."""
        with self._lock:
            for processor in list(self._processors.values()):
                processor.pipeline = None
            self.recording = self.pipeline = self._private = self._seen = self._found = None
            self._mask, self._max_bytes, self._environment = None, MAX_BYTES, None

    def _renew_lock(self) -> None:
        self._lock = threading.RLock()

    def _look_at(self, provider: TracerProvider) -> Recording | None:
        with self._lock:
            real = not isinstance(provider, otel_trace.ProxyTracerProvider)
            if self.pipeline is not None and real and _takes_processors(provider):
                self.recording = self._found = self._join(provider)
            elif self._private is not None:
                self._found = self._join(self._private)
            else:
                self._found = self._record(provider, None) if real else None
            self._seen = provider
            return self._found

    def _make_private(self, service: str | None, set_global: bool) -> None:
        self._private = _private_provider(service, self._environment)
        self._seen = None
        if set_global and isinstance(otel_trace.get_tracer_provider(), otel_trace.ProxyTracerProvider):
            otel_trace.set_tracer_provider(self._private)
        self.find()

    def _join(self, provider: Any) -> Recording:
        """The recording for a provider that has, or now gets, our processor, if anybody needs it."""
        processor = self._processors.get(provider)
        if processor is None and self.pipeline is not None and self.pipeline.wants_others:
            from tracehooks.tracing.processor import TracehooksProcessor

            processor = self._processors[provider] = TracehooksProcessor()
            provider.add_span_processor(processor)
        if processor is not None:
            processor.pipeline = self.pipeline
        return self._record(provider, self.pipeline)

    def _record(self, provider: Any, pipeline: "Pipeline | None") -> Recording:
        limits = getattr(provider, "_span_limits", None)  # there is no public way to ask for them
        capture = Capture(
            mask=self._mask,
            max_bytes=self._max_bytes,
            max_chars=getattr(limits, "max_span_attribute_length", None),
            max_event_chars=getattr(limits, "max_attribute_length", None),
        )
        base = _missing_environment(provider, self._environment)
        return Recording(provider.get_tracer(semconv.SCOPE), capture, pipeline, base)


def _takes_processors(provider: Any) -> bool:
    return callable(getattr(provider, "add_span_processor", None))


def _missing_environment(provider: Any, environment: str | None) -> dict[str, str]:
    """The environment as a span attribute, where the provider's resource does not name it."""
    known = getattr(getattr(provider, "resource", None), "attributes", {})
    if environment is None or semconv.ENVIRONMENT in known or semconv.ENVIRONMENT_BEFORE in known:
        return {}
    return {semconv.ENVIRONMENT: environment}


def _private_provider(service: str | None, environment: str | None) -> "SdkTracerProvider":
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider as SdkTracerProvider

    named = {semconv.SERVICE_NAME: service, semconv.ENVIRONMENT: environment}
    resource = Resource.create({name: value for name, value in named.items() if value is not None})
    return SdkTracerProvider(resource=resource, shutdown_on_exit=False)  # tracehooks.runtime sees to the exit


door = Door()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=door._renew_lock)  # another thread may have held it
