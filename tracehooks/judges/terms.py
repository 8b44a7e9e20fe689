"""Terms: whether a request to a model may go out, and what it turned out to cost.

Whoever runs a job puts its judges under terms for that time; a judge asks them before every request it sends,
those it repeats included. Without terms it may send what it likes.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

from tracehooks.judges.sharing import Sharing
from tracehooks.protocols import Usage

NOTHING = Usage(input_tokens=0, output_tokens=0)  # a server that refuses a request does not charge for it
UNKNOWN = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What one request can use at most.

    ``input_tokens`` is never exceeded: no tokenizer makes more tokens than there are bytes.
    ``output_tokens`` is the limit that the request asks for, None for the model's own. ``seconds`` is how
    long it may take.
    """

    input_tokens: int
    output_tokens: int | None
    seconds: float


class Terms(Protocol):
    """What requests are sent under. ``sharing`` is where their sender shares what is allowed with others."""

    @property
    def sharing(self) -> Sharing | None:
        """None where each sender is alone."""
        ...

    async def reserve(self, need: Need) -> Any:
        """A ticket for one request, as soon as there may be one.

        Raises CompletionFailed, reason ``over_budget``, when there may be none.
        """
        ...

    def settle(self, ticket: Any, used: Usage) -> None:
        """Say what the request used; a count that nobody knows stands as it was reserved."""
        ...


_TERMS: ContextVar[Terms | None] = ContextVar("tracehooks_judge_terms", default=None)


def current_terms() -> Terms | None:
    """The terms that hold here, if any."""
    return _TERMS.get()


@contextmanager
def under(terms: Terms | None) -> Iterator[None]:
    """Within it, and in all tasks begun within it, judges send under ``terms``."""
    token = _TERMS.set(terms)
    try:
        yield
    finally:
        _TERMS.reset(token)
