"""One traced call: its span from the start to the one end that it has, however the call ends."""

from collections.abc import Mapping
from time import time_ns
from typing import Any, TypeVar, cast

from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, StatusCode

from tracehooks.tracing import semconv
from tracehooks.tracing.capture import MAX_STATUS_CHARS, Recorded
from tracehooks.tracing.carried import NOTHING, Carried
from tracehooks.tracing.chunks import Chunks
from tracehooks.tracing.context import CARRIED, HERE, SPAN, Here, current_context
from tracehooks.tracing.fields import usage
from tracehooks.tracing.pipeline import FullText, Note
from tracehooks.tracing.provider import Recording
from tracehooks.tracing.spec import Spec
from tracehooks.tracing.trouble import trouble

# Signals of Python's own protocols: somebody stops, nothing went wrong.
_SIGNALS = (StopIteration, StopAsyncIteration, GeneratorExit)
_PLAIN = frozenset({str, bytes, int, float, bool, type(None), list, tuple})


class Call:
    """The open span of one call. ``context`` is what the function's body runs in.

    ``is_open`` is True while there is a span that records and has not ended.
    """

    __slots__ = (
        *("_attributes", "_full_input", "_full_output", "context", "is_open", "recording", "span", "spec"),
    )

    def __init__(self, spec: Spec, recording: Recording, span: Span, context: Context) -> None:
        self.spec = spec
        self.recording = recording
        self.span = span
        self.context = context
        self.is_open = span.is_recording()
        self._attributes: dict[str, Any] = {}
        self._full_input: str | None = None
        self._full_output: str | None = None

    def as_stream(self) -> "GuardedCall":
        """The same call, whose result turned out to be a stream. This one is over, without an end."""
        stream = GuardedCall(self.spec, self.recording, self.span, self.context)
        stream._attributes, stream._full_input = self._attributes, self._full_input
        stream.is_open, self.is_open = self.is_open, False
        return stream

    def take_input(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Write the arguments out now: the body may change them."""
        spec = self.spec
        try:
            arguments = spec.parameters.arguments(args, kwargs)
            value, messages, full = self.recording.capture.input(arguments, messages=spec.speaks)
        except Exception as error:
            trouble("capturing an input", error)
            return
        self._attributes[semconv.INPUT] = value
        if messages is not None:
            self._attributes[semconv.INPUT_MESSAGES] = messages
        self._full_input = full

    def succeed(self, result: Any) -> None:
        """The call has returned ``result``."""
        if not self.is_open:
            return
        end = time_ns()
        if self.spec.capture_output:
            try:
                self._put_output(self.recording.capture.output(result, messages=self.spec.speaks))
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

    def _put_output(self, recorded: Recorded) -> None:
        self._attributes[semconv.OUTPUT] = recorded[0]
        if recorded[1] is not None:
            self._attributes[semconv.OUTPUT_MESSAGES] = recorded[1]
        self._full_output = recorded[2]

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
        span, pipeline = self.span, self.recording.pipeline
        try:
            if not span.is_recording():  # the application ended it itself
                return
            span.set_attributes(self._attributes)
        except Exception as error:
            trouble("ending a span", error)
        try:
            if pipeline is not None and (self._full_input or self._full_output or self.spec.hooks):
                pipeline.end_with_note(span, end, self._note())
            else:
                span.end(end)
        except Exception as error:
            trouble("ending a span", error)

    def _note(self) -> Note:
        cut = self._full_input is not None or self._full_output is not None
        return Note(FullText(self._full_input, self._full_output) if cut else None, self.spec.hooks)


class StreamCall(Call):
    """The open span of a call that gives its result in chunks."""

    __slots__ = ("chunks",)

    def __init__(self, spec: Spec, recording: Recording, span: Span, context: Context) -> None:
        super().__init__(spec, recording, span, context)
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
                self._put_output(chunks.recorded(capture, messages=spec.speaks, complete=complete))
            except Exception as error:
                trouble("capturing an output", error)


class GuardedCall(StreamCall):
    """One whose stream may vanish without having been closed: its loop is gone, or it was never begun.

    Whoever drives the stream holds the only reference, so that the span ends with it.
    """

    __slots__ = ("source",)

    def __init__(self, spec: Spec, recording: Recording, span: Span, context: Context) -> None:
        super().__init__(spec, recording, span, context)
        self.source: Any = None  # a coroutine that was never awaited, to be closed along

    def __del__(self) -> None:
        try:
            if self.source is not None:
                self.source.close()
            self.finish(complete=False)
        except Exception:  # noqa: S110 - at interpreter exit anything may be gone already
            pass


C = TypeVar("C", bound=Call)


def begin(
    form: type[C],
    spec: Spec,
    recording: Recording,
    context: Context,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> C:
    """Start the span of a call whose surroundings are ``context``, or the present ones if that is empty.

    Never raises; when the SDK does, the call has no span and runs all the same.
    """
    try:
        attributes = spec.made if spec.made_for is recording else spec.make_for(recording)
        carried: Carried = NOTHING
        around: Here | None = None
        if context or (context := current_context()):
            around = cast("Here | None", context.get(HERE))
            carried = cast(Carried, context.get(CARRIED, NOTHING))
            attributes = _surrounded(attributes, spec, recording, around, carried)
        span = recording.start_span(spec.name, context, SpanKind.INTERNAL, attributes)
        place = Here(span, recording.capture, carried, around, spec.is_agent)
        call = form(spec, recording, span, Context({**context, SPAN: span, HERE: place}))
    except Exception as error:
        trouble("starting a span", error)
        return form(spec, recording, INVALID_SPAN, context)
    if call.is_open:
        if recording.pipeline is not None:
            recording.pipeline.count_start()
        if spec.capture_input:
            call.take_input(args, kwargs)
    return call


def _surrounded(
    attributes: dict[str, Any], spec: Spec, recording: Recording, around: Here | None, carried: Carried
) -> dict[str, Any]:
    """The attributes of a span with those that its surroundings add."""
    if carried is not NOTHING:
        attributes = {**attributes, **carried.attributes(recording.capture)}
    agent = around.agent if spec.is_agent and around is not None else None
    if agent is not None:
        parent = agent.span.get_span_context().span_id
        attributes = {**attributes, semconv.PARENT_AGENT: f"{parent:016x}"}
    return attributes
