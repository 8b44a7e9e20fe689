"""The seams: what a judge, a scorer, a sink and a source of calls must be able to do. One method each."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from tracehooks.records import AgentCall, DataType, Direction, Reason, Score


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens that a judge used over all attempts; None where the server did not say (never 0 for unknown)."""

    input_tokens: int | None = None
    output_tokens: int | None = None

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=_sum(self.input_tokens, other.input_tokens),
            output_tokens=_sum(self.output_tokens, other.output_tokens),
        )


def _sum(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else a + b


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question for a judge.

    ``instructions`` is ours and becomes the system message. ``material`` maps a label to text that nobody
    vouches for; it goes into the user message behind a per-call nonce. ``schema`` is the JSON schema of
    the reply, ``read`` turns the decoded JSON reply into the value the scorer wants and raises
    :class:`BadReply` when it may not be used.
    """

    name: str
    instructions: str
    material: Mapping[str, str]
    schema: Mapping[str, Any]
    read: Callable[[Any], Any]


class BadReply(ValueError):  # noqa: N818 - it says what the reply is
    """A judge's reply that may not become a score. ``reason`` is MALFORMED or OUT_OF_RANGE."""

    def __init__(self, message: str, reason: Reason = Reason.MALFORMED) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a judge answered: ``value`` as read by the question, or ``reason`` why there is none.

    ``prompt`` is what was sent, after masking: a list of ``{"role", "content"}``. ``raw`` is the last
    reply's text. ``attempts`` counts requests sent. ``detail`` is one line for a person. ``cached`` says that
    an earlier run was answered this, and nobody was asked now; ``batched`` that a batch brought the answer.
    """

    value: Any = None
    reason: Reason | None = None
    detail: str = ""
    model: str | None = None
    usage: Usage = field(default_factory=Usage)
    prompt: Sequence[Mapping[str, str]] = ()
    raw: str | None = None
    attempts: int = 1
    cached: bool = False
    batched: bool = False


@runtime_checkable
class Judge(Protocol):
    """Asks a model one question. Never raises for a failure of the model or the network."""

    async def ask(self, question: Question) -> Answer:
        """Ask ``question``; the answer has a value, or a reason why there is none."""
        ...


@runtime_checkable
class Scorer(Protocol):
    """Turns a call into a score."""

    @property
    def name(self) -> str:
        """The name of the scores it makes."""
        ...

    @property
    def version(self) -> str:
        """Changes whenever the same call might be scored otherwise: a hash of prompt, model and options."""
        ...

    @property
    def direction(self) -> Direction:
        """Which way is better."""
        ...

    async def score(self, call: AgentCall) -> Score:
        """Score ``call``."""
        ...


@runtime_checkable
class ScoreSink(Protocol):
    """Where scores go. A sink may be handed the same score twice and must then keep one.

    It may also have ``wants_unscored = True`` for results without a value; ``unwanted``, names of scores that
    it is never to get, and ``unwanted_because``, why and what changes that; ``senders``, how many threads may
    deliver at once; ``batch``, how many scores at once; and ``takes_rows = True`` when it is to be handed
    each score as a :class:`ScoreRow`, which costs a fraction of a :class:`Delivery`.
    """

    def deliver(self, scores: Sequence["Delivery"]) -> Sequence["Receipt"]:
        """Send ``scores``; one receipt each, in their order. Raises only when nothing at all was sent."""
        ...


class RowSink(Protocol):
    """The same, but with ``takes_rows = True``."""

    takes_rows: bool

    def deliver(self, scores: Sequence["ScoreRow"]) -> Sequence["Receipt"]:
        """Send ``scores``; one receipt each. Raises only when nothing at all was sent."""
        ...


@runtime_checkable
class ConfirmingSink(ScoreSink, Protocol):
    """A sink that can be asked afterwards what became of a score."""

    @property
    def confirm_after(self) -> timedelta:
        """How long after it was accepted a score can be read back at the earliest."""
        ...

    def confirm(self, scores: Sequence["Delivery"]) -> Sequence["ReadBack"]:
        """Look for ``scores`` that were accepted. Raises when they could not be looked for."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One score on its way to a sink.

    ``time`` is the scored call's start; ``revision`` counts rescores from 1. ``resent`` counts how often it
    was sent before and accepted, and yet could not be read back. The rest is where the score came from.
    """

    id: str
    score: Score
    call: AgentCall | None
    time: datetime
    environment: str
    revision: int = 1
    resent: int = 0
    scorer_version: str = ""
    run_id: str | None = None
    probability: float | None = None
    scored_at: datetime | None = None


class ScoreRow(NamedTuple):
    """The same for sinks with ``takes_rows``: flat, as the store keeps it, and without the scored call.

    ``number`` is the value of a NUMERIC or BOOLEAN score, ``text`` of any other. ``metadata`` is a JSON
    object. ``call_start`` and ``scored_at`` are microseconds since 1970 in UTC.
    """

    id: str
    trace_id: str
    span_id: str
    name: str
    number: float | None
    text: str | None
    data_type: DataType
    comment: str
    metadata: str
    environment: str
    call_start: int
    scorer_version: str
    run_id: str | None
    probability: float | None
    scored_at: int
    revision: int = 1
    resent: int = 0

    @property
    def value(self) -> float | str | None:
        """The score's value; None for one that has none."""
        return self.text if self.number is None else self.number


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What a sink said about one delivery.

    ``error`` is set when it was not accepted; ``retry`` says whether trying later may help, ``retry_after``
    in how many seconds, where the sink was told.
    """

    id: str
    accepted: bool
    error: str | None = None
    retry: bool = True
    retry_after: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBack:
    """What was found of one delivery: the same value and comment, others, or nothing yet."""

    id: str
    found: Literal["same", "other", "missing"]
    detail: str = ""


@runtime_checkable
class CallSource(Protocol):
    """Lists the calls whose start lies in a window."""

    def calls(self, start: datetime, end: datetime) -> Iterable[AgentCall]:
        """Every outermost agent call with ``start <= call.start < end``.

        Each comes once, ordered by (start, trace, span).
        """
        ...


Grade = Literal["ok", "note", "bad"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check looked at, how it is, and what to do about it. Only ``bad`` keeps things from working.

    Other packages' checks join `tracehooks doctor` by the entry points of ``tracehooks.checks``: functions
    ``(settings, *, network: bool, fix: bool) -> Iterator[Finding]``.
    """

    grade: Grade
    about: str
    what: str
    remedy: str = ""
