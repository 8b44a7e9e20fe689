"""BaseJudge: everything about asking that does not depend on which model answers."""

from collections.abc import Mapping, Sequence
from typing import Any

from tracehooks.judges.completions import Completion, Messages
from tracehooks.protocols import Answer, Question


class BaseJudge:
    """Asks a question and returns a validated answer. A subclass only sends messages."""

    model: str | None = None

    def __init__(self, *, mask: str | Sequence[str] = "secrets") -> None:
        self.mask = mask

    async def ask(self, question: Question) -> Answer:
        """Ask ``question``. Never raises for a failure of the model, the network or the reply."""
        raise NotImplementedError

    async def _complete(self, messages: Messages, schema: Mapping[str, Any]) -> Completion:
        """Send ``messages``; raises CompletionFailed when no reply came."""
        raise NotImplementedError

    async def aclose(self) -> None:
        """Close what is open on the running event loop. The judge can be used again."""
