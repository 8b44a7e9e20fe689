"""One traced call: its span from the start to the one end that it has, however the call ends."""

from collections.abc import Mapping
from time import time_ns
from typing import Any, TypeVar

from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, StatusCode, TraceFlags

from tracehooks.tracing import semconv
from tracehooks.tracing.capture import MAX_STATUS_CHARS, Capture, Recorded
from tracehooks.tracing.carried import NOTHING, Carried
from tracehooks.tracing.chunks import Chunks
from tracehooks.tracing.context import CARRIED, HERE, SPAN, Here, current_context
from tracehooks.tracing.fields import usage
from tracehooks.tracing.pipeline import FullText
from tracehooks.tracing.provider import Recording, door
from tracehooks.tracing.spec import Spec
from tracehooks.tracing.trouble import trouble

SAMPLED = TraceFlags.SAMPLED
# Signals of Python's own protocols: somebody stops, nothing went wrong.
_SIGNALS = (StopIteration, StopAsyncIteration, GeneratorExit)
_PLAIN = frozenset({str, bytes, int, float, bool, type(None), list, tuple})


class Call(Here):
    """The open span of one call.

    ``is_open`` is True while there is a span that records and has not ended.
    """

    __slots__ = ("_attributes", "_full", "is_open", "recording", "spec")

    def __init__(
        self, spec: Spec, recording: Recording, span: Span, carried: Carried, outer: Here | None
    ) -> None:
        self.spec = spec
        self.recording = recording
        self.span = span
        self.carried = carried
        self.outer = outer
        self.is_open = span.is_recording()
        self._attributes: dict[str, Any] = {}
        self._full: FullText | None = None

    @property
    def capture(self) -> Capture:
        """How the call records."""
        return self.recording.capture

    @property
    def agent(self) -> Here | None:
        """The nearest agent: this call, if it is one."""
        return self if self.spec.is_agent else self.outer

    def as_stream(self) -> "StreamCall":
        """The same call, whose result turned out to be a stream. This one is over, without an end."""
        stream = StreamCall(self.spec, self.recording, self.span, self.carried, self.outer)
        stream._attributes, stream._full = self._attributes, self._full
        self.is_open = False
        return stream

    def take_input(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Write the arguments out now: the body may change them."""
        spec, capture = self.spec, self.recording.capture
        parameters, recorded = spec.parameters, None
        try:
            if len(args) == parameters.count and not kwargs and type(args[-1]) is str:
                recorded = capture.text_input(parameters.last, args[-1], messages=spec.speaks)
            if recorded is None:
                recorded = capture.input(parameters.arguments(args, kwargs), messages=spec.speaks)
        except Exception as error:
            trouble("capturing an input", error)
            return
        value, messages, full = recorded
        self._attributes[semconv.INPUT] = value
        if messages is not None:
            self._attributes[semconv.INPUT_MESSAGES] = messages
        if full is not None:
            self._full = FullText(input=full)

    def succeed(self, result: Any) -> None:
        """The call has returned ``result``."""
        if not self.is_open:
            return
        end = time_ns()
        spec = self.spec
        if spec.capture_output:
            try:
                self.put_output(self.recording.capture.output(result, messages=spec.speaks))
            except Exception as error:
                trouble("capturing an output", error)
        if type(result) not in _PLAIN:
            self.put_usage(usage(result))
        self._end(end)

    def fail(self, error: BaseException) -> None:
        """The call has raised ``error``, which may be a failure, a signal, or a cancellation."""
        if not self.is_open:
            return
        end = time_ns()
        if isinstance(error, self.spec.control_flow) or not isinstance(error, Exception):
            self._attributes[semconv.COMPLETE] = False
        elif not isinstance(error, _SIGNALS):
            try:
                self._put_error(error)
            except Exception as problem:
                trouble("recording an exception", problem)
        self._end(end)

    def put_usage(self, tokens: tuple[int | None, int | None] | None) -> None:
        """Record the tokens of a reply; what it does not say stays absent."""
        for name, number in zip((semconv.INPUT_TOKENS, semconv.OUTPUT_TOKENS), tokens or (), strict=False):
            if number is not None:
                self._attributes[name] = number

    def put_output(self, recorded: Recorded) -> None:
        """Record a result."""
        value, messages, full = recorded
        self._attributes[semconv.OUTPUT] = value
        if messages is not None:
            self._attributes[semconv.OUTPUT_MESSAGES] = messages
        if full is not None:
            self._full = FullText(None if self._full is None else self._full.input, full)

    def _put_error(self, error: Exception) -> None:
        capture, kind = self.recording.capture, type(error)
        name = (
            kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        )
        said = capture.message(error, MAX_STATUS_CHARS)
        self.span.set_status(StatusCode.ERROR, f"{kind.__name__}: {said}" if said else kind.__name__)
        self._attributes[semconv.ERROR_TYPE] = name
        message, stack = capture.exception(error)
        self.span.add_event(
            semconv.EXCEPTION_EVENT,
            {
                semconv.EXCEPTION_TYPE: name,
                semconv.EXCEPTION_MESSAGE: message,
                semconv.EXCEPTION_STACKTRACE: stack,
                semconv.EXCEPTION_ESCAPED: "True",
            },
        )

    def _end(self, end: int) -> None:
        """End the span, at ``end`` nanoseconds. Only the first of several ends counts."""
        if not self.is_open:
            return
        self.is_open = False
        span, attributes, self._attributes = self.span, self._attributes, {}
        try:
            if span.is_recording():  # else the application ended it itself
                try:
                    span.set_attributes(attributes)
                finally:
                    span.end(end)
        except Exception as error:
            trouble("ending a span", error)
        pipeline = door.pipeline
        if pipeline is not None and span.context.trace_flags & SAMPLED:  # type: ignore[attr-defined]
            full, self._full = self._full, None
            pipeline.take(span, full, self.spec.hooks)


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
            self._attributes[semconv.COMPLETE] = False
        self._take_chunks(complete)
        self._end(end)

    def fail(self, error: BaseException) -> None:
        """The stream has raised; what came before is kept."""
        if isinstance(error, _SIGNALS):
            self.finish(complete=False)
        elif self.is_open:
            self._take_chunks(complete=False)
            super().fail(error)

    def _take_chunks(self, complete: bool) -> None:
        chunks, spec = self.chunks, self.spec
        if chunks.tokens is not None:
            self.put_usage(chunks.tokens)
        if spec.capture_output:
            try:
                capture = self.recording.capture
                self.put_output(chunks.recorded(capture, messages=spec.speaks, complete=complete))
            except Exception as error:
                trouble("capturing an output", error)
        self.chunks = Chunks()  # the context of a task that the body started may outlive the stream


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


C = TypeVar("C", bound=Call)


def begin(
    form: type[C],
    spec: Spec,
    recording: Recording,
    around: Context,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> tuple[C, Context]:
    """Start the span of a call whose surroundings are ``around``, or the present ones if that is empty.

    Returns the call, and the context that its body runs in. Never raises; when the SDK does, the call has no
    span and runs all the same.
    """
    try:
        attributes = spec.made if spec.made_for is recording else spec.make_for(recording)
        carried: Carried = NOTHING
        outer: Here | None = None
        if around or (around := current_context()):
            carried = around.get(CARRIED, NOTHING)  # type: ignore[assignment]
            place: Here | None = around.get(HERE)  # type: ignore[assignment]
            outer = None if place is None else place.agent
            if carried is not NOTHING or outer is not None:
                attributes = _surrounded(attributes, spec, recording, carried, outer)
        span = recording.start_span(spec.name, around, SpanKind.INTERNAL, attributes)
        call = form(spec, recording, span, carried, outer)
        context = Context({**around, SPAN: span, HERE: call})
    except Exception as error:
        trouble("starting a span", error)
        return form(spec, recording, INVALID_SPAN, NOTHING, None), around
    if call.is_open:
        pipeline = recording.pipeline
        if pipeline is not None:
            with pipeline.lock:
                pipeline.started += 1
        if spec.capture_input:
            call.take_input(args, kwargs)
    return call, context


def _surrounded(
    attributes: dict[str, Any], spec: Spec, recording: Recording, carried: Carried, outer: Here | None
) -> dict[str, Any]:
    """The attributes of a span with those that its surroundings add."""
    if carried is not NOTHING:
        attributes = {**attributes, **carried.attributes(recording.capture)}
    if outer is not None and spec.is_agent:
        parent = outer.span.get_span_context().span_id
        attributes = {**attributes, semconv.PARENT_AGENT: f"{parent:016x}"}
    return attributes
