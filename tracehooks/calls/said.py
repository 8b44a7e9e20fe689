"""What was said in a call: the agent span's own text, else the text of the spans below it."""

from dataclasses import dataclass

from tracehooks.calls.dialect import Kind
from tracehooks.calls.dialects import inputs_of, outputs_of
from tracehooks.calls.named_text import ATTRIBUTE, SOURCE
from tracehooks.calls.native import OUTPUT
from tracehooks.calls.span import SpanRecord
from tracehooks.calls.text import Shape, agent_words, user_words
from tracehooks.calls.tree import TraceTree


@dataclass(frozen=True, slots=True)
class Said:
    """A text, where it was found, and whether the record was cut."""

    text: str | None = None
    source: str | None = None
    cut: bool = False


SILENCE = Said()
# What a span below the call must have recorded to be heard; of any other kind only messages are.
_LEAST = {Kind.AGENT: Shape.JSON, Kind.MODEL: Shape.TEXT}


def last_words(span: SpanRecord, tree: TraceTree) -> Said:
    """The agent's own last words in the call at ``span``.

    What a team's own path found (see ``named_text.py``), else the span's own output when it says anything.
    Where that is a message without words (a tool call), or our own record of a blank answer, nothing was
    said. Else, for frameworks that leave the top empty, the last words below: children by their end, the
    latest first; what lies below a tool, retriever or guardrail is left out.
    """
    if (named := span.attributes.get(ATTRIBUTE)) is not None:
        return Said(str(named), f"{span.attributes.get(SOURCE)} (the setting text)")
    own, settled = _own_words(span)
    if own.text is not None or settled:
        return own
    below = _words_below(span, tree)
    return below if below.text is not None else own


def first_question(span: SpanRecord, tree: TraceTree) -> Said:
    """What the user asked in the call at ``span``: its own input, else that of the first request below it."""
    own = _own_question(span)
    if own.text is not None:
        return own
    below = (each for each in tree.heard(span) if tree.kind(each) in _LEAST)
    for each in sorted(below, key=lambda each: (each.start_ns, each.span_id)):
        if (asked := _own_question(each, at_least=Shape.TEXT)).text is not None:
            return Said(asked.text, f"child span {each.name}: {asked.source}", asked.cut)
    return own


def _own_words(span: SpanRecord, *, at_least: Shape = Shape.JSON) -> tuple[Said, bool]:
    """The words that ``span`` itself recorded, and whether its record settles that there are none."""
    lost = False
    for source, value, cut in outputs_of(span):
        words = agent_words(value)
        lost = lost or cut or words.cut
        if words.text is not None and words.shape >= at_least:
            return Said(words.text, source, words.cut or cut), True
        if words.shape is Shape.CHAT or (words.shape is Shape.TEXT and source == OUTPUT):
            return Said(cut=lost), not lost
    return Said(cut=lost), False


def _own_question(span: SpanRecord, *, at_least: Shape = Shape.JSON) -> Said:
    for source, value, cut in inputs_of(span):
        words = user_words(value)
        if words.text is not None and words.shape >= at_least:
            return Said(words.text, source, words.cut or cut)
    return SILENCE


def _words_below(span: SpanRecord, tree: TraceTree) -> Said:
    """Depth first, the child that ended last first. A step speaks after the spans below it had their turn."""
    seen = {span.span_id}
    waiting = [(child, False) for child in _by_end(span, tree)]
    while waiting:
        child, searched = waiting.pop()
        kind = tree.kind(child)
        if kind in (Kind.ASIDE, Kind.INTERNAL) or (child.span_id in seen and not searched):
            continue
        seen.add(child.span_id)
        if searched or kind in _LEAST:
            words, _ = _own_words(child, at_least=_LEAST.get(kind, Shape.CHAT))
            if words.text is not None:
                return Said(words.text, f"child span {child.name}: {words.source}", words.cut)
        else:
            waiting.append((child, True))
        if not searched:
            waiting.extend((below, False) for below in _by_end(child, tree))
    return SILENCE


def _by_end(span: SpanRecord, tree: TraceTree) -> list[SpanRecord]:
    return sorted(tree.children(span), key=lambda child: (child.end_ns, child.start_ns, child.span_id))
