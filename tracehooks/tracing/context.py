"""The context of a traced call: its span, the agents around it, and what they all carry.

Everything lives in OpenTelemetry's own context, under its span key and two keys of ours, so that whatever
carries that context (async tasks, ``asyncio.to_thread``, ``carry_context``) carries ours as well.
"""

import contextvars
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from opentelemetry.context import Context, attach, create_key, detach, get_current
from opentelemetry.trace import INVALID_SPAN, Span, set_span_in_context

from tracehooks.tracing.capture import Capture
from tracehooks.tracing.carried import NOTHING, Carried
from tracehooks.tracing.trouble import trouble

if TYPE_CHECKING:
    from tracehooks.records import TraceRef

HERE = create_key("tracehooks-here")
CARRIED = create_key("tracehooks-carried")
SPAN = next(iter(set_span_in_context(INVALID_SPAN, Context())))  # OpenTelemetry's key for the current span


class Here:
    """Where a traced call runs: its span, and the nearest agent's call around it."""

    __slots__ = ("carried", "outer", "span")

    span: Span
    carried: Carried
    outer: "Here | None"

    @property
    def capture(self) -> Capture:
        """How the call records."""
        raise NotImplementedError

    @property
    def agent(self) -> "Here | None":
        """The nearest agent: this call, if it is one."""
        raise NotImplementedError

    def update(self, carried: Carried) -> None:
        """Put ``carried`` on the span, and on those of all agents around it, as far as they are open."""
        self.carried = self.carried.merged(carried)
        if self.span.is_recording():
            self.span.set_attributes(self.carried.attributes(self.capture))
        if self.outer is not None:
            self.outer.update(carried)


# OpenTelemetry's own functions for these go through three calls; here they run in every traced call. The
# variable is learnt from a token. An application with a runtime context of another kind has none.
_token: Any = attach(get_current())
otel_variable: Any = getattr(_token, "var", None)
if otel_variable is None:
    detach(_token)
else:
    otel_variable.reset(_token)
current_context: Callable[[], Context] = get_current if otel_variable is None else otel_variable.get
enter: Callable[[Context], Any] = attach if otel_variable is None else otel_variable.set
restore: Callable[[Any], None] = detach if otel_variable is None else otel_variable.reset


def here(context: Context) -> Here | None:
    """Where ``context`` is; None outside every traced call."""
    return cast("Here | None", context.get(HERE))


def leave(token: contextvars.Token[Context]) -> bool:
    """Detach what ``attach`` gave ``token`` for; False, silently, when another context is running by now.

    That happens where a coroutine is closed by the garbage collector, and there is nothing to restore then.
    OpenTelemetry's own ``detach`` would log an error.
    """
    try:
        restore(token)
    except ValueError:
        return False
    return True


def current_trace() -> "TraceRef | None":
    """The address of the innermost traced call that is running here.

    None outside of every traced call, and where the call is not recorded because its trace was sampled out.
    """
    place = here(get_current())
    if place is None:
        return None
    context = place.span.get_span_context()
    if not (context.is_valid and context.trace_flags.sampled):
        return None
    from tracehooks.records import TraceRef  # costs as much as everything else here to import

    return TraceRef(f"{context.trace_id:032x}", f"{context.span_id:016x}")


class trace_attributes:  # noqa: N801 - used like a function
    """Give every span started inside the block a session, a user, tags and metadata.

    Inside a traced call the open span gets them too, and so do the agents around it, whose calls they
    describe. Blocks nest: the inner session and user win, tags and metadata come together. ``with`` serves
    async code as well::

        with tracehooks.trace_attributes(session_id="s-1", user_id="u-1", tags=["beta"]):
            await agent(question)
    """

    def __init__(
        self,
        *,
        session_id: str | None = None,
        user_id: str | None = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self._given = (session_id, user_id, tags, metadata)
        self._outside: Context | None = None
        self._inside: Context | None = None
        self._token: contextvars.Token[Context] | None = None

    def __enter__(self) -> None:
        try:
            self._enter()
        except BaseException as error:
            trouble("trace_attributes", error)

    def _enter(self) -> None:
        carried = Carried.of(*self._given)
        self._outside = context = get_current()
        place = here(context)
        if place is not None:
            place.update(carried)
        before = cast(Carried, context.get(CARRIED, NOTHING))
        self._inside = Context({**context, CARRIED: before.merged(carried)})
        self._token = attach(self._inside)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._token is None or self._outside is None:
            return
        # A generator's next step may run in another context, where the token is worthless.
        if not leave(self._token) and get_current() is self._inside:
            attach(self._outside)
        self._token = self._outside = self._inside = None
