"""What a hook must know of the spans around an agent's: which agents are still open, what ended below."""

import weakref
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

from tracehooks.calls import is_agent_span

MOST_TRACES = 1000
MOST_SPANS = 200  # of one trace; the last ones say what the agent said last

SpanKey = tuple[int, int]


class SpansAround:
    """Live spans, to tell an outermost agent span from a nested one, and the ended ones below it.

    Frameworks often leave an agent's span without text; its last words stand on a span below, which has
    ended by then. ``wanted(trace_id)`` says whether a trace's spans are worth keeping. Bounded, and a span
    that never ends is forgotten with its last reference.
    """

    def __init__(self, wanted: Callable[[str], bool]) -> None:
        self._wanted = wanted
        self._live: weakref.WeakValueDictionary[SpanKey, Any] = weakref.WeakValueDictionary()
        self._ended: OrderedDict[int, deque[Any]] = OrderedDict()

    def started(self, span: Any) -> None:
        """A span, anybody's, begins."""
        self._live[span.context.trace_id, span.context.span_id] = span

    def ended(self, span: Any) -> tuple[bool, tuple[Any, ...]]:
        """A span has ended: whether it is an outermost agent's, and then the spans that ended below it."""
        trace_id = span.context.trace_id
        if not self._wanted(f"{trace_id:032x}"):
            return self._is_outermost(span), ()
        if self._is_outermost(span):
            return True, tuple(self._ended.pop(trace_id, ()))
        self._keep(trace_id, span)
        return False, ()

    def _is_outermost(self, span: Any) -> bool:
        if not is_agent_span(span):
            return False
        parent, seen = span.parent, 0
        while parent is not None and seen < MOST_SPANS:
            above = self._live.get((parent.trace_id, parent.span_id))
            if above is None:
                return True
            if is_agent_span(above):
                return False
            parent, seen = above.parent, seen + 1
        return True

    def _keep(self, trace_id: int, span: Any) -> None:
        spans = self._ended.get(trace_id)
        if spans is None:
            spans = self._ended[trace_id] = deque(maxlen=MOST_SPANS)
            while len(self._ended) > MOST_TRACES:
                self._ended.popitem(last=False)
        spans.append(span)
