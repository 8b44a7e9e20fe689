"""The head of a call: what planning needs of it."""

from typing import NamedTuple

from tracehooks.records import TraceRef


class CallHead(NamedTuple):
    """What planning needs of a call; the texts stay where they are."""

    trace_id: str
    span_id: str
    name: str

    @property
    def ref(self) -> TraceRef:
        """The call's address."""
        return TraceRef(self.trace_id, self.span_id)
