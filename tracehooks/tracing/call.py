"""One traced call: its span from the start to the one end that it has, however the call ends."""

from collections.abc import Mapping
from time import time_ns
from typing import Any, TypeVar

from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, StatusCode, TraceFlags

from tracehooks.tracing import semconv
from tracehooks.tracing.capture import MAX_STATUS_CHARS, Capture, Recorded
from tracehooks.tracing.carried import NOTHING, Carried
from tracehooks.tracing.context import CARRIED, HERE, SPAN, Here, current_context
from tracehooks.tracing.fields import usage
from tracehooks.tracing.messages import AGENT_BROKE_OFF, AGENT_SAID, USER_SAID
from tracehooks.tracing.pipeline import FullText
from tracehooks.tracing.provider import Recording, door
from tracehooks.tracing.spec import Spec
from tracehooks.tracing.trouble import trouble

SAMPLED = TraceFlags.SAMPLED
# Signals of Python's own protocols: somebody stops, nothing went wrong.
SIGNALS = (StopIteration, StopAsyncIteration, GeneratorExit)
_PLAIN = frozenset({str, bytes, int, float, bool, type(None), list, tuple})


class Call(Here):
    """The open span of one call.

    ``is_open`` is True while there is a span that records and has not ended.
    """

    __slots__ = ("attributes", "full", "is_open", "recording", "spec")

    def __init__(
        self, spec: Spec, recording: Recording, span: Span, carried: Carried, outer: Here | None
    ) -> None:
        self.spec = spec
        self.recording = recording
        self.span = span
        self.carried = carried
        self.outer = outer
        self.is_open = span.is_recording()
        self.attributes: dict[str, Any] = {}
        self.full: FullText | None = None

    @property
    def capture(self) -> Capture:
        """How the call records."""
        return self.recording.capture

    @property
    def agent(self) -> Here | None:
        """The nearest agent: this call, if it is one."""
        return self if self.spec.is_agent else self.outer

    def take_input(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Write the arguments out now: the body may change them."""
        parameters = self.spec.parameters
        try:
            usual = len(args) == parameters.count and not kwargs and type(args[-1]) is str
            if usual and self._put_text_input(args[-1]):
                return
            given = parameters.arguments(args, kwargs)
            value, messages, full = self.recording.capture.input(given, messages=self.spec.speaks)
        except BaseException as error:
            trouble("capturing an input", error)
            return
        self.attributes[semconv.INPUT] = value
        if messages is not None:
            self.attributes[semconv.INPUT_MESSAGES] = messages
        if full is not None:
            self.full = FullText(input=full)

    def succeed(self, result: Any) -> None:
        """The call has returned ``result``."""
        if not self.is_open:
            return
        end = time_ns()
        spec = self.spec
        try:
            if type(result) not in _PLAIN:
                self.put_usage(usage(result))
            if spec.capture_output:
                self.put_result(result)
        except BaseException as error:
            trouble("capturing an output", error)
        finally:
            self.end(end)

    def fail(self, error: BaseException) -> None:
        """The call has raised ``error``, which may be a failure, a signal, or a cancellation."""
        if not self.is_open:
            return
        end = time_ns()
        if isinstance(error, self.spec.control_flow) or not isinstance(error, Exception):
            self.attributes[semconv.COMPLETE] = False
        elif not isinstance(error, SIGNALS):
            try:
                self._put_error(error)
            except BaseException as problem:
                trouble("recording an exception", problem)
            finally:
                self.end(end)
        self.end(end)

    def put_usage(self, tokens: tuple[int | None, int | None] | None) -> None:
        """Record the tokens of a reply; what it does not say stays absent."""
        for name, number in zip((semconv.INPUT_TOKENS, semconv.OUTPUT_TOKENS), tokens or (), strict=False):
            if number is not None:
                self.attributes[name] = number

    def _put_text_input(self, text: str) -> bool:
        """Record the only argument of a call, where it is a text that needs no care: the usual case."""
        spec = self.spec
        quoted = self.recording.capture.quoted(text)
        if quoted is None:
            return False
        self.attributes[semconv.INPUT] = f"{spec.parameters.lead}{quoted}}}"
        if spec.speaks:
            self.attributes[semconv.INPUT_MESSAGES] = f"{USER_SAID[0]}{quoted}{USER_SAID[1]}"
        return True

    def put_result(self, result: Any, *, complete: bool = True, missing: int = 0) -> None:
        """Record a result, of which ``missing`` bytes are lost. Only a complete one says why it stopped."""
        speaks, capture = self.spec.speaks, self.recording.capture
        quoted = capture.quoted(result) if type(result) is str and not missing else None
        if quoted is None:
            self.put_output(capture.output(result, messages=speaks, complete=complete, missing=missing))
            return
        self.attributes[semconv.OUTPUT] = quoted
        if speaks:
            before, after = AGENT_SAID if complete else AGENT_BROKE_OFF
            self.attributes[semconv.OUTPUT_MESSAGES] = f"{before}{quoted}{after}"

    def put_output(self, recorded: Recorded) -> None:
        """Record a result as it was captured."""
        value, messages, full = recorded
        self.attributes[semconv.OUTPUT] = value
        if messages is not None:
            self.attributes[semconv.OUTPUT_MESSAGES] = messages
        if full is not None:
            self.full = FullText(None if self.full is None else self.full.input, full)

    def _put_error(self, error: Exception) -> None:
        capture, kind = self.recording.capture, type(error)
        name = (
            kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        )
        said = capture.message(error, MAX_STATUS_CHARS)
        self.span.set_status(StatusCode.ERROR, f"{kind.__name__}: {said}" if said else kind.__name__)
        self.attributes[semconv.ERROR_TYPE] = name
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

    def end(self, end: int) -> None:
        """End the span, at ``end`` nanoseconds. Only the first of several ends counts."""
        if not self.is_open:
            return
        self.is_open = False
        span, attributes, self.attributes = self.span, self.attributes, {}
        try:
            if span.is_recording():  # else the application ended it itself
                try:
                    span.set_attributes(attributes)
                finally:
                    span.end(end)
        except BaseException as error:
            trouble("ending a span", error)
        full, self.full = self.full, None
        pipeline = door.pipeline
        try:
            if pipeline is not None and span.context.trace_flags & SAMPLED:  # type: ignore[attr-defined]
                pipeline.take(span, full, self.spec.hooks, attributes)
        except BaseException as error:
            trouble("taking a span in", error)


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
    except BaseException as error:
        trouble("starting a span", error)
        return form(spec, recording, INVALID_SPAN, NOTHING, None), around
    if call.is_open:
        pipeline = recording.pipeline
        if pipeline is not None:
            pipeline.started.add()
        if spec.capture_input:
            try:
                call.take_input(args, kwargs)
            except BaseException as error:
                call.fail(error)
                raise
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
