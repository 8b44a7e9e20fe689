"""The spans of one trace as a tree, and which of them are calls.

Nothing here depends on the order in which the spans come. A parent that is not among them ends the way up;
a span that is its own ancestor ends it too.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property

from tracehooks.calls.dialect import AGENTS, Kind
from tracehooks.calls.dialects import kind_of
from tracehooks.calls.native import PARENT_AGENT
from tracehooks.calls.span import SpanRecord

_COVERING = AGENTS | {Kind.INTERNAL}
_UNHEARD = frozenset((Kind.ASIDE, Kind.INTERNAL))


class TraceTree:
    """The known spans of one trace. Of a span that is there twice the one that ended last counts."""

    def __init__(self, spans: Iterable[SpanRecord]) -> None:
        self.spans: dict[str, SpanRecord] = {}
        for span in spans:
            known = self.spans.get(span.span_id)
            if known is None or _weight(span) > _weight(known):
                self.spans[span.span_id] = span
        self._children: dict[str, list[SpanRecord]] = {}
        for span in self.spans.values():
            if span.parent_span_id is not None and span.parent_span_id != span.span_id:
                self._children.setdefault(span.parent_span_id, []).append(span)
        self._kinds: dict[str, Kind] = {}

    def kind(self, span: SpanRecord) -> Kind:
        """What ``span`` is; asked of the dialects once."""
        kind = self._kinds.get(span.span_id)
        if kind is None:
            kind = self._kinds[span.span_id] = kind_of(span.name, span.scope, span.attributes)
        return kind

    def children(self, span: SpanRecord) -> list[SpanRecord]:
        """The spans directly below ``span``."""
        return self._children.get(span.span_id, [])

    def ancestors(self, span: SpanRecord) -> Iterator[SpanRecord]:
        """The known spans above ``span``, nearest first; in a circle it ends before ``span`` comes again."""
        seen = {span.span_id}
        parent = self._parent(span)
        while parent is not None and parent.span_id not in seen:
            seen.add(parent.span_id)
            yield parent
            parent = self._parent(parent)

    def heard(self, span: SpanRecord) -> Iterator[SpanRecord]:
        """The spans below ``span`` that are part of its conversation, in no particular order.

        Neither tools, retrievers, guardrails and our own bookkeeping, nor what lies below them.
        """
        seen = {span.span_id}
        waiting = [*self.children(span)]
        while waiting:
            below = waiting.pop()
            if below.span_id not in seen and self.kind(below) not in _UNHEARD:
                seen.add(below.span_id)
                yield below
                waiting.extend(self.children(below))

    def outermost(self) -> list[SpanRecord]:
        """The spans that are calls, ordered by (start, span id)."""
        found = [span for span in self.spans.values() if self._is_call(span)]
        return sorted(found, key=_order)

    def _is_call(self, span: SpanRecord) -> bool:
        kind = self.kind(span)
        if PARENT_AGENT in span.attributes:  # the agent around it may still be running, or be out of sight
            return False
        if kind in AGENTS:
            return not self._covered(span, _COVERING)
        if kind is not Kind.ENTRY or self._covered(span, _COVERING | {Kind.ENTRY}):
            return False
        return not self._has_agent

    @cached_property
    def _has_agent(self) -> bool:
        return any(self.kind(span) in AGENTS for span in self.spans.values())

    def _covered(self, span: SpanRecord, kinds: frozenset[Kind]) -> bool:
        """Whether a span of ``kinds`` is above. Where spans are each other's ancestors, the first covers."""
        return any(
            self.kind(above) in kinds and not (_order(span) < _order(above) and self._circular(span, above))
            for above in self.ancestors(span)
        )

    def _circular(self, span: SpanRecord, above: SpanRecord) -> bool:
        return any(upper.span_id == span.span_id for upper in self.ancestors(above))

    def _parent(self, span: SpanRecord) -> SpanRecord | None:
        """The span above; where that one is not known, as an application's own, the agent around it."""
        known = self.spans.get(span.parent_span_id) if span.parent_span_id else None
        around = span.attributes.get(PARENT_AGENT)
        return known or (self.spans.get(around) if isinstance(around, str) else None)


def _order(span: SpanRecord) -> tuple[int, str]:
    return span.start_ns, span.span_id


def _weight(span: SpanRecord) -> tuple[int, int, str]:
    return span.end_ns, len(span.attributes), repr(sorted(span.attributes.items(), key=lambda item: item[0]))
