"""Handing spans to the exporters in batches: tried again on failure, split when one span spoils a batch."""

import threading
from collections.abc import Sequence
from time import monotonic
from typing import Any, Protocol

from opentelemetry import context as otel_context

from tracehooks.tracing.trouble import trouble

ATTEMPTS = 4  # of a whole batch
FIRST_PAUSE = 0.1  # seconds before the second attempt; each later pause is four times as long
SPLITS = 40  # further exports spent on finding the spans that an exporter refuses: two of 256 are found
PATIENCE = 30.0  # seconds for all of it

# As the SDK's own processors do: what an exporter does must not be traced, or it would never end.
_SUPPRESS = getattr(otel_context, "_SUPPRESS_INSTRUMENTATION_KEY", "suppress_instrumentation")


class SpanExporter(Protocol):
    """What we need of an OpenTelemetry span exporter.

    An exporter that loses some spans of a batch that it accepts counts them in an attribute ``lost``. One
    with a method ``note_lost(spans) -> bool`` is told, when it works again, how many did not reach it.
    """

    def export(self, spans: Sequence[Any]) -> Any:
        """Export ``spans``; the result's name is SUCCESS or FAILURE."""

    def shutdown(self) -> None:
        """Release everything."""


class Exporting:
    """Sends every batch to each exporter. A span counts as exported when all of them took it."""

    def __init__(self, exporters: Sequence[SpanExporter]) -> None:
        self.exporters = tuple(exporters)
        self.reset_counts()

    def reset_counts(self) -> None:
        """Begin to count anew."""
        self._lock = threading.RLock()
        self._shut = threading.Event()
        self.exported = 0
        self.dropped = 0

    def export(self, batch: list[Any]) -> None:
        """Export ``batch``, or count what could not be."""
        token = otel_context.attach(otel_context.set_value(_SUPPRESS, True))
        try:
            attempts = [_Attempt(exporter, self._shut) for exporter in self.exporters]
            lost = max((attempt.export(batch) for attempt in attempts), default=0)
        finally:
            otel_context.detach(token)
        with self._lock:
            self.exported += len(batch) - lost
            self.dropped += lost

    def note_lost(self, spans: int) -> bool:
        """Tell the exporters that keep account that so many spans were lost; False when one could not."""
        keepers = [exporter for exporter in self.exporters if hasattr(exporter, "note_lost")]
        return all(keeper.note_lost(spans) for keeper in keepers)

    def shutdown(self, timeout: float) -> None:
        """Shut the exporters down, in a thread of its own so that none can outlast ``timeout`` seconds.

        What an exporter is at then is not tried again.
        """
        self._shut.set()
        thread = threading.Thread(target=self._shutdown, name="tracehooks-shutdown", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no threads any more at interpreter exit
            self._shutdown()
        else:
            thread.join(timeout)

    def _shutdown(self) -> None:
        for exporter in self.exporters:
            try:
                exporter.shutdown()
            except BaseException as error:
                trouble("shutting an exporter down", error)


class _Attempt:
    """One batch's way into one exporter."""

    def __init__(self, exporter: SpanExporter, shut: threading.Event) -> None:
        self._exporter, self._shut = exporter, shut
        self._deadline = monotonic() + PATIENCE
        self._splits = SPLITS

    def export(self, batch: Sequence[Any]) -> int:
        """Export ``batch``; returns how many spans were lost."""
        pause = FIRST_PAUSE
        for attempt in range(ATTEMPTS):
            lost = self._try(batch)
            if lost is not None:
                return lost
            if attempt < ATTEMPTS - 1 and monotonic() + pause < self._deadline:
                if self._shut.wait(pause):
                    return len(batch)
                pause *= 4
        return self._split(batch)

    def _split(self, batch: Sequence[Any]) -> int:
        """Export the halves of a batch that was refused, and their halves, while that is worth it."""
        if len(batch) == 1:
            return 1
        lost = 0
        for half in (batch[: len(batch) // 2], batch[len(batch) // 2 :]):
            self._splits -= 1
            if self._splits < 0 or monotonic() > self._deadline or self._shut.is_set():
                lost += len(half)
                continue
            outcome = self._try(half)
            lost += self._split(half) if outcome is None else outcome
        return lost

    def _try(self, batch: Sequence[Any]) -> int | None:
        """How many spans of ``batch`` the exporter lost; None when it refused all."""
        before = getattr(self._exporter, "lost", 0)
        try:
            result = self._exporter.export(batch)
        except BaseException as error:
            trouble(f"exporting to {type(self._exporter).__name__}", error)
            return None
        if getattr(result, "name", "") != "SUCCESS":
            trouble(f"exporting to {type(self._exporter).__name__}", "it refused a batch")
            return None
        lost = getattr(self._exporter, "lost", 0) - before
        return min(max(lost, 0), len(batch))
