"""Who tells how many tokens a trace took, so that Langfuse, which adds them up, counts them once."""

from collections import OrderedDict
from typing import Any

from tracehooks.exporters.langfuse.attributes import tells_usage, without_usage

SPANS_REMEMBERED = 20_000


class UsageOnce:
    """Lets tokens be told once a trace branch: an agent that repeats its model's usage would double the cost.

    Spans end from the inside out, so what was told below a span is known when that span comes.
    """

    def __init__(self) -> None:
        self._told_below: OrderedDict[tuple[int, int], None] = OrderedDict()

    def only(self, span: Any, attributes: dict[str, Any]) -> dict[str, Any]:
        """``attributes``, without usage when spans below ``span`` have told theirs."""
        trace_id, span_id = span.context.trace_id, span.context.span_id
        below = (trace_id, span_id) in self._told_below
        tells = tells_usage(attributes)
        if (below or tells) and span.parent is not None:
            # not taken out when used: a batch that failed comes again
            self._told_below[trace_id, span.parent.span_id] = None
            while len(self._told_below) > SPANS_REMEMBERED:
                self._told_below.popitem(last=False)
        return without_usage(attributes) if below and tells else attributes
