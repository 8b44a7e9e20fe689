"""One call that one hook wants scored, from the end of its span to its one settlement."""

from dataclasses import replace
from typing import Any

from tracehooks.calls import agent_call, span_record
from tracehooks.calls.named_text import TextPath, with_named_text
from tracehooks.hooks.hook import ScoringHook
from tracehooks.hooks.paying import Paying
from tracehooks.records import AgentCall
from tracehooks.tracing.pipeline import FullText, text_size


class EndedCall:
    """The call of a span that has ended, for all hooks that want it; read when one first asks.

    ``full`` holds the span's texts where the recorded ones were cut, ``around`` are other spans of its trace,
    and ``text`` is where the settings say that an agent's answer lies. ``size`` is about the characters of
    its texts.
    """

    __slots__ = ("_around", "_call", "_full", "_span", "_text", "size", "trace_id")

    def __init__(
        self,
        span: Any,
        full: FullText | None = None,
        around: tuple[Any, ...] = (),
        *,
        text: TextPath | None = None,
    ) -> None:
        self.trace_id = f"{span.context.trace_id:032x}"
        self.size = text_size(span.attributes or {}) + (0 if full is None else full.size)
        self._span = span
        self._full = full
        self._around = around
        self._text = text
        self._call: AgentCall | None = None

    @property
    def call(self) -> AgentCall:
        """The call; from the first time on the spans are not kept. Safe from any thread."""
        ended, full, around = self._span, self._full, self._around
        if self._call is None:
            span = span_record(ended)
            if full is not None:
                span = replace(span, attributes=full.restored(span.attributes))
            (span,) = with_named_text([span], self._text)
            self._call = agent_call(span, [span_record(other) for other in around])
            self._span = self._full = None
            self._around = ()
        return self._call


class Job:
    """``ended`` is the call that ``hook`` wants; ``paying`` knows what its judge is asked under.

    ``settled`` turns True once: who does that counts it.
    """

    __slots__ = ("_ended", "hook", "paying", "settled", "size", "trace_id")

    def __init__(self, hook: ScoringHook, ended: EndedCall, paying: Paying | None = None) -> None:
        self.hook = hook
        self.paying = paying
        self.trace_id = ended.trace_id
        self.size = ended.size
        self.settled = False
        self._ended = ended

    @property
    def name(self) -> str:
        """The name of the score that is wanted."""
        return str(self.hook.scorer.name)

    @property
    def call(self) -> AgentCall:
        """The call."""
        return self._ended.call
