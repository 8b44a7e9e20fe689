"""The span processor that an application's provider gets: it hands on what others than ``@traced`` made."""

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import TraceFlags

from tracehooks.tracing.pipeline import Pipeline, is_ours
from tracehooks.tracing.trouble import trouble

SAMPLED = TraceFlags.SAMPLED


class TracehooksProcessor(SpanProcessor):
    """Hands the spans of others to ``pipeline``, which takes an agent's; idle while that is None.

    The spans of ``@traced`` do not come this way: a call hands its span over itself, with what has no place
    in the span, and whether or not some processor before this one fails.

    A processor cannot be taken off a provider again, so it stays, and a later ``init()`` gives it another
    pipeline. It never raises: the SDK would pass that on to whoever ended the span.
    """

    def __init__(self) -> None:
        self.pipeline: Pipeline | None = None

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Tell whoever wants to know."""
        pipeline = self.pipeline
        if pipeline is None or not pipeline.starters:
            return
        for starter in pipeline.starters:
            try:
                starter(span)
            except BaseException as error:
                trouble("a listener", error)

    def on_end(self, span: ReadableSpan) -> None:
        """Hand it on, if it is sampled and not ours."""
        pipeline = self.pipeline
        if pipeline is None:
            return
        try:
            context = span.context
            if context is not None and context.trace_flags & SAMPLED and not is_ours(span):
                pipeline.on_end(span)
        except BaseException as error:
            trouble("taking a span in", error)

    def shutdown(self) -> None:
        """Flush. The application closed its provider, but ``tracehooks.shutdown`` is what closes ours."""
        self.force_flush(5000)

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Wait until everything is exported, for at most that long."""
        pipeline = self.pipeline
        return True if pipeline is None else pipeline.flush(timeout_millis / 1000)
