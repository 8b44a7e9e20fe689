"""A call whose result comes in chunks, and the guard that ends it when its stream vanishes."""

from time import time_ns
from typing import Any

from opentelemetry.context import Context
from opentelemetry.trace import Span

from tracehooks.tracing import semconv
from tracehooks.tracing.call import SIGNALS, Call
from tracehooks.tracing.carried import Carried
from tracehooks.tracing.chunks import Chunks, Written
from tracehooks.tracing.context import Here
from tracehooks.tracing.provider import Recording
from tracehooks.tracing.spec import Spec
from tracehooks.tracing.trouble import trouble


class StreamCall(Call):
    """The open span of a call that gives its result in chunks."""

    __slots__ = ("chunks",)

    def __init__(
        self, spec: Spec, recording: Recording, span: Span, carried: Carried, outer: Here | None
    ) -> None:
        super().__init__(spec, recording, span, carried, outer)
        self.chunks = Chunks(spec.reduce)

    def finish(self, *, complete: bool) -> None:
        """The stream is exhausted, or was left early."""
        if not self.is_open:
            return
        end = time_ns()
        if not complete:
            self.attributes[semconv.COMPLETE] = False
        try:
            self._take_chunks(complete)
        finally:
            self.end(end)

    def fail(self, error: BaseException) -> None:
        """The stream has raised; what came before is kept."""
        if isinstance(error, SIGNALS):
            self.finish(complete=False)
        elif self.is_open:
            try:
                self._take_chunks(complete=False)
            finally:
                super().fail(error)

    def _take_chunks(self, complete: bool) -> None:
        chunks, spec = self.chunks, self.spec
        if chunks.tokens is not None:
            self.put_usage(chunks.tokens)
        if spec.capture_output:
            try:
                value = chunks.value()
                if type(value) is Written:
                    self.put_output(self.recording.capture.parts(value, chunks.lost))
                else:
                    self.put_result(value, complete=complete, missing=chunks.lost)
            except BaseException as error:
                trouble("capturing an output", error)
        chunks.items = []  # the context of a task that the body started may outlive the stream


class Guard:
    """Ends a call whose stream vanishes without having been closed: its loop is gone, or it never began.

    Whoever drives the stream holds the only reference. ``source`` is a coroutine that was never awaited.
    """

    __slots__ = ("call", "context", "source")

    def __init__(self, call: StreamCall, context: Context, source: Any = None) -> None:
        self.call = call
        self.context = context
        self.source = source

    def __del__(self) -> None:
        try:
            if self.source is not None:
                self.source.close()
            self.call.finish(complete=False)
        except Exception:  # noqa: S110 - at interpreter exit anything may be gone already
            pass


def as_stream(call: Call) -> StreamCall:
    """The same call, whose result turned out to be a stream. ``call`` itself is over, without an end."""
    stream = StreamCall(call.spec, call.recording, call.span, call.carried, call.outer)
    stream.attributes, stream.full = call.attributes, call.full
    call.is_open = False
    return stream
