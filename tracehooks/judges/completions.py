"""What one request to a model comes back with: a Completion, or a CompletionFailed that says why not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tracehooks.protocols import Usage
from tracehooks.records import Reason

Messages = Sequence[Mapping[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A model's reply to one conversation.

    ``text`` is None when the reply had no content. ``refusal`` is the model's own refusal text, where the
    server tells it apart. ``finish_reason`` is the server's word: ``stop``, ``length``, ``content_filter``...
    ``attempts`` counts the requests that were sent to get it.
    """

    text: str | None = None
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    finish_reason: str | None = None
    refusal: str | None = None
    attempts: int = 1


class CompletionFailed(Exception):  # noqa: N818 - it says what happened, and never leaves the judge
    """No reply came. ``reason`` is the unscored reason that the answer will carry.

    ``attempts`` counts the requests sent, ``retry`` says if the same request may succeed later, and
    ``wait`` is how many seconds the server asked to wait, if it did. ``free`` says that the server has
    turned the request down, and so cannot charge for it.
    """

    def __init__(
        self,
        reason: Reason,
        detail: str,
        *,
        attempts: int = 1,
        retry: bool = False,
        wait: float | None = None,
        free: bool = False,
    ) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
        self.attempts = attempts
        self.retry = retry
        self.wait = wait
        self.free = free
