"""Spans to further backends beside the store, each on a queue of its own: one that is down holds up no other.

A package offers exporters through an entry point of the group ``tracehooks.span_exporters``: a function
``(settings) -> {name: exporter}``, empty where the settings and the environment ask for none. An exporter is
OpenTelemetry's own; it gets the spans that the store gets, on a background thread. One that has
``only_private = True`` gets none of an application's own tracer provider, which has exporters of its own.

What an exporter that ``takes_again`` (see ``tracehooks.scoring.resending``) could not send is known to the
store, and sent from there once its backend takes spans again, by this process or by any later one.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points
from time import monotonic
from typing import TYPE_CHECKING, Any

from tracehooks.errors import ConfigurationError
from tracehooks.tracing.export import SpanExporter
from tracehooks.tracing.pipeline import FullText, Pipeline
from tracehooks.tracing.provider import door
from tracehooks.tracing.trouble import trouble

if TYPE_CHECKING:
    from tracehooks.resending import Later
    from tracehooks.settings import Settings

GROUP = "tracehooks.span_exporters"
LEAST = 0.1
FINISH_SECONDS = 2.0  # at the end of the process: the spans are in the store as well


class Forwarding:
    """Takes part in the running product: the pipeline tells :meth:`on_span`."""

    def __init__(self, exporters: Mapping[str, SpanExporter], later: "Later | None" = None) -> None:
        self._later = later
        self._pipelines = {name: Pipeline([exporter]) for name, exporter in exporters.items()}
        private = {name for name, exporter in exporters.items() if is_only_private(exporter)}
        self._everywhere = [one for name, one in self._pipelines.items() if name not in private]
        self._private = [one for name, one in self._pipelines.items() if name in private]
        self._seconds = FINISH_SECONDS
        self._lost = 0

    def on_span(self, span: Any, _full: FullText | None, _hooks: tuple[Any, ...]) -> None:
        """A span has ended, whatever its other queues did with it."""
        for pipeline in self._everywhere:
            pipeline.take(span)
        if self._private and door.is_private:
            for pipeline in self._private:
                pipeline.take(span)

    def hurry(self) -> None:
        """Let all exporters begin with what is there, and wait for none."""
        for pipeline in self._pipelines.values():
            if _is_able(pipeline):
                pipeline.flush(0)

    def flush(self, timeout: float) -> bool:
        """Wait until all are exported; False when time ran out or some were lost since the last flush."""
        return self._each(timeout, Pipeline.flush)

    def finish(self, timeout: float) -> bool:
        """The same, at the end of the process."""
        done = self.flush(min(timeout, self._seconds))
        # there may be several calls on the way out, and a collector that hangs does so in each
        self._seconds = FINISH_SECONDS if done else LEAST
        for name, pipeline in self._pipelines.items():
            if left := pipeline.stats()["pending"]:
                trouble(
                    f"sending spans to {name}", _left_over(left, self._later and name in self._later.names)
                )
        return done

    def shutdown(self, timeout: float) -> bool:
        """Export what is left, and stop."""
        if self._later is not None:
            self._later.close()
        return self._each(timeout, Pipeline.close)

    def stats(self) -> Mapping[str, Any]:
        """The counts of each exporter, by its name; ``resent`` are those sent from the store."""
        found = {name: _counts(pipeline) for name, pipeline in self._pipelines.items()}
        if self._later is not None:
            for name in self._later.names:
                found[name]["resent"] = self._later.sent[name]
        return {"forwarded": found}

    def _each(self, timeout: float, function: Callable[[Pipeline, float], bool]) -> bool:
        """Call ``function`` for each; all have begun before the first is waited for."""
        end = monotonic() + timeout
        self.hurry()
        pipelines = self._pipelines.values()
        done = [
            _is_able(pipeline) and function(pipeline, max(0.0, end - monotonic())) for pipeline in pipelines
        ]
        before, self._lost = self._lost, sum(pipeline.dropped for pipeline in pipelines)
        return all(done) and self._lost == before


def forwarding(
    settings: "Settings", *, private: bool, beside: Sequence[SpanExporter] = ()
) -> Forwarding | None:
    """To all exporters that the installed packages offer; None when there are none.

    ``private`` False: the provider is the application's. ``beside`` are the exporters of the store. Raises
    ConfigurationError for wrong settings; what else an exporter fails with when it is made is told, and the
    others are there.
    """
    exporters: dict[str, SpanExporter] = {}
    for entry in entry_points(group=GROUP):
        try:
            exporters.update(entry.load()(settings))
        except ConfigurationError:
            raise
        except Exception as error:
            trouble(f"setting up the span exporter {entry.name}", error)
    wanted = {name: one for name, one in exporters.items() if private or not is_only_private(one)}
    return Forwarding(wanted, _later(settings, wanted, beside)) if wanted else None


def _later(
    settings: "Settings", exporters: Mapping[str, SpanExporter], beside: Sequence[SpanExporter]
) -> "Later | None":
    """What sends again from the store, where there is one and some backend may get a span twice."""
    again = {name: one for name, one in exporters.items() if getattr(one, "takes_again", False)}
    keeper = next((one for one in beside if hasattr(one, "await_backends")), None)
    if not again or keeper is None:
        return None
    from tracehooks.resending import Later

    return Later(settings, again, keeper)


def is_only_private(exporter: SpanExporter) -> bool:
    """Whether it wants the spans of our own private provider only."""
    return bool(getattr(exporter, "only_private", False))


def _is_able(pipeline: Pipeline) -> bool:
    """Whether it works in a thread of its own: at its end the interpreter starts none, and none may wait."""
    return not pipeline.worker.pending or pipeline.worker.start()


def _left_over(count: int, kept: object) -> str:
    said = f"{count} were not sent in time at the end of the process"
    later = (
        "; the store has them, and the next process that delivers, or `tracehooks outbox flush`, sends them"
    )
    return said + later if kept else said


def _counts(pipeline: Pipeline) -> dict[str, int]:
    counts = pipeline.stats()
    return {key: counts[key] for key in ("ended", "exported", "dropped", "pending")}
