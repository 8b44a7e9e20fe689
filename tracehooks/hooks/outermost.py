"""Which finished spans are calls, told as they end: what ``agent_calls`` tells of a whole trace, online.

An agent's span ends before what is above it, and some instrumentations (LangChain's of OpenInference) say
what a span is only at its end. So an agent below a span that may still turn out to be one waits for its end.
"""

import os
import threading
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from tracehooks.calls.dialect import AGENTS, Kind
from tracehooks.calls.dialects import kind_of
from tracehooks.calls.native import OUTPUT, SCOPE
from tracehooks.calls.span import scope_of
from tracehooks.tracing.pipeline import FullText

MOST_NODES = 10_000  # spans, open or ended, whose place is known
MOST_TRACES = 500  # of which spans are kept for their texts
MOST_SPANS = 64  # of one trace; the last ones say what the agent said last
MOST_STEPS = 200  # up from a span
DECIDES_LATE = "openinference."  # scopes whose spans may say at their end what they are, whoever is below

SpanKey = tuple[int, int]
_CALLS = AGENTS | {Kind.ENTRY}


class Found(NamedTuple):
    """A finished span that is a call; ``around`` are spans of its trace that may hold its texts or labels."""

    span: Any
    full: FullText | None
    around: tuple[Any, ...]


@dataclass(slots=True, eq=False)
class _Node:
    """The place of one span. ``live`` is its span while that is open, ``kind`` what it was at its end."""

    key: SpanKey
    parent: SpanKey | None
    scope: str
    live: "weakref.ref[Any] | None" = None
    kind: Kind = Kind.STEP
    waiting: "list[_Candidate] | None" = None

    @property
    def kind_now(self) -> Kind:
        if self.kind is Kind.STEP and (span := self.span) is not None:
            self.kind = kind_of(span.name, self.scope, span.attributes or {})
        return self.kind

    @property
    def span(self) -> Any:
        return None if self.live is None else self.live()

    def may_become_agent(self, below: str) -> bool:
        """Whether it is open, has not said what it is, and may; ``below`` is the scope of who asks."""
        if self.scope == SCOPE or not (self.scope == below or self.scope.startswith(DECIDES_LATE)):
            return False
        return self.span is not None and self.kind_now is Kind.STEP


class _Candidate(NamedTuple):
    span: Any
    full: FullText | None
    kind: Kind
    node: _Node


class Outermost:
    """Watches all spans of the process, and tells of each call once.

    ``wanted(trace_id)`` says whether a trace's spans are worth keeping for their texts. Bounded: a span that
    never ends is forgotten in time. Safe from any thread; a forked child goes on with what it knows.
    """

    def __init__(self, wanted: Callable[[str], bool]) -> None:
        self._wanted = wanted
        self._nodes: OrderedDict[SpanKey, _Node] = OrderedDict()
        self._kept: OrderedDict[int, deque[Any]] = OrderedDict()
        self._with_agents: OrderedDict[int, None] = OrderedDict()
        self._renew_lock()
        _all.add(self)

    def _renew_lock(self) -> None:
        # reentrant: the garbage collector may end a span while this thread holds it
        self._lock = threading.RLock()

    def started(self, span: Any) -> None:
        """A span, anybody's, begins."""
        node = _node(span)
        node.live = weakref.ref(span)
        with self._lock:
            self._nodes[node.key] = node
            _bound(self._nodes, MOST_NODES)

    def ended(self, span: Any, full: FullText | None = None) -> list[Found]:
        """A span, anybody's, has ended. Returns the calls that this settles: itself, others, or none."""
        with self._lock:
            node = self._nodes.get(_key(span.context)) or _node(span)
            node.kind = kind_of(span.name, node.scope, span.attributes or {})
            node.live = None
            waiting, node.waiting = node.waiting or [], None
            candidates = self._candidates(_Candidate(span, full, node.kind, node), waiting)
            above = list(self._above(node))
            self._keep(span, node, above)
            found = [self._found(one, above) for one in candidates if self._is_call(one, above)]
            if not any(ancestor.span is not None for ancestor in above):
                self._kept.pop(node.key[0], None)
                self._with_agents.pop(node.key[0], None)
            return found

    def _candidates(self, own: _Candidate, waiting: list[_Candidate]) -> list[_Candidate]:
        trace_id = own.node.key[0]
        if own.kind in AGENTS:
            self._with_agents[trace_id] = None
            _bound(self._with_agents, MOST_TRACES)
            return [own]
        if own.kind is Kind.INTERNAL:
            return []
        if own.kind is not Kind.ENTRY:
            return waiting
        agents = [one for one in waiting if one.kind in AGENTS]
        return agents if agents or trace_id in self._with_agents else [own]

    def _is_call(self, one: _Candidate, above: list[_Node]) -> bool:
        """Whether nothing above covers it; when that is not known yet, it waits there."""
        covering = AGENTS | {Kind.INTERNAL} | ({Kind.ENTRY} if one.kind is Kind.ENTRY else set())
        if any(ancestor.kind_now in covering for ancestor in above):
            return False
        for ancestor in above:
            if ancestor.may_become_agent(one.node.scope):
                ancestor.waiting = [*(ancestor.waiting or ()), one]
                return False
        return True

    def _found(self, one: _Candidate, above: list[_Node]) -> Found:
        around = [span for ancestor in above if (span := ancestor.span) is not None]
        if not (one.node.scope == SCOPE and OUTPUT in (one.span.attributes or {})):
            around += self._kept.get(one.node.key[0], ())
        return Found(one.span, one.full, tuple(around))

    def _keep(self, span: Any, node: _Node, above: list[_Node]) -> None:
        """Keep what has ended below a call, or what may be one: its top may have no text of its own."""
        if node.kind in (Kind.ASIDE, Kind.INTERNAL) or not self._is_below_call(node, above):
            return
        trace_id = node.key[0]
        if not self._wanted(f"{trace_id:032x}"):
            return
        kept = self._kept.get(trace_id)
        if kept is None:
            kept = self._kept[trace_id] = deque(maxlen=MOST_SPANS)
            _bound(self._kept, MOST_TRACES)
        kept.append(span)

    def _is_below_call(self, node: _Node, above: list[_Node]) -> bool:
        return any(
            ancestor.span is not None
            and (ancestor.kind_now in _CALLS or ancestor.may_become_agent(node.scope))
            for ancestor in above
        )

    def _above(self, node: _Node) -> Iterator[_Node]:
        """The known spans above, nearest first."""
        parent = node.parent
        for _ in range(MOST_STEPS):
            above = None if parent is None else self._nodes.get(parent)
            if above is None or above is node:
                return
            yield above
            parent = above.parent


def _key(context: Any) -> SpanKey:
    return context.trace_id, context.span_id


def _node(span: Any) -> _Node:
    return _Node(_key(span.context), None if span.parent is None else _key(span.parent), scope_of(span))


def _bound(mapping: OrderedDict[Any, Any], most: int) -> None:
    """Forget the oldest entries."""
    while len(mapping) > most:
        mapping.popitem(last=False)


_all: "weakref.WeakSet[Outermost]" = weakref.WeakSet()


def _renew_in_child() -> None:
    for one in list(_all):
        one._renew_lock()  # another thread may have held it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_in_child)
