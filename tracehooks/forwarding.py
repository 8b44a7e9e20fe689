"""Spans to one exporter more, on a queue of its own: a collector that is down holds up nothing else."""

from collections.abc import Callable, Mapping
from typing import Any

from tracehooks.tracing.export import SpanExporter
from tracehooks.tracing.pipeline import FullText, Pipeline

LEAST = 0.1
FINISH_SECONDS = 2.0  # at the end of the process: the spans are in the store as well


class Forwarding:
    """Takes part in the running product: the pipeline tells :meth:`on_span`.

    ``wanted()`` says whether a span that ends now goes there.
    """

    def __init__(self, name: str, exporter: SpanExporter, wanted: Callable[[], bool] = lambda: True) -> None:
        self._name = name
        self._wanted = wanted
        self._seconds = FINISH_SECONDS
        self._pipeline = Pipeline([exporter], keep=lambda span: True)

    def on_span(self, span: Any, _full: FullText | None, _hooks: tuple[Any, ...]) -> None:
        """A span has ended, whatever its other queues did with it."""
        if self._wanted():
            self._pipeline.on_end(span)

    def flush(self, timeout: float) -> bool:
        """Wait until all spans are exported; False when some were lost or time ran out."""
        return self._pipeline.flush(timeout)

    def finish(self, timeout: float) -> bool:
        """The same, at the end of the process."""
        done = self._pipeline.flush(min(timeout, self._seconds))
        # there may be several calls on the way out, and a collector that hangs does so in each
        self._seconds = FINISH_SECONDS if done else LEAST
        return done

    def shutdown(self, timeout: float) -> bool:
        """Export what is left, and stop."""
        return self._pipeline.close(timeout)

    def stats(self) -> Mapping[str, Any]:
        """Its counts, under its name."""
        counts = self._pipeline.stats()
        return {self._name: {key: counts[key] for key in ("ended", "exported", "dropped", "pending")}}
