"""One call that one hook wants scored, from the end of its span to its one settlement."""

from dataclasses import replace
from typing import Any

from tracehooks.calls import agent_call, span_record
from tracehooks.calls.named_text import TextPath, with_named_text
from tracehooks.hooks.hook import ScoringHook
from tracehooks.records import AgentCall
from tracehooks.tracing.pipeline import FullText, text_size


class Job:
    """``span`` has ended; ``full`` holds its texts where the recorded ones were cut; ``around`` other spans.

    ``text`` is where the settings say that an agent's answer lies. ``size`` is about the characters of its
    texts. ``settled`` turns True once: whoever turns it counts what became of the call.
    """

    __slots__ = ("_around", "_call", "_full", "_span", "_text", "hook", "settled", "size", "trace_id")

    def __init__(
        self,
        hook: ScoringHook,
        span: Any,
        full: FullText | None = None,
        around: tuple[Any, ...] = (),
        *,
        text: TextPath | None = None,
    ) -> None:
        self.hook = hook
        self.trace_id = f"{span.context.trace_id:032x}"
        self.settled = False
        self.size = text_size(span.attributes or {}) + (0 if full is None else full.size)
        self._span = span
        self._full = full
        self._around = around
        self._text = text
        self._call: AgentCall | None = None

    @property
    def name(self) -> str:
        """The name of the score that is wanted."""
        return str(self.hook.scorer.name)

    @property
    def call(self) -> AgentCall:
        """The call, read from its spans when it is first asked for; from then on they are not kept."""
        if self._call is None:
            span = span_record(self._span)
            if self._full is not None:
                span = replace(span, attributes=self._full.restored(span.attributes))
            (span,) = with_named_text([span], self._text)
            self._call = agent_call(span, [span_record(other) for other in self._around])
            self._span = self._full = None
            self._around = ()
        return self._call
