"""The values that flow through tracehooks: an AgentCall goes in, a Score comes out.

Plain frozen dataclasses, so that importing them costs nothing. All times are aware UTC.
"""

import hashlib
import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from numbers import Real
from typing import Any, Literal, get_args

from tracehooks.errors import InvalidScoreError

Direction = Literal["lower", "higher"]
DataType = Literal["NUMERIC", "BOOLEAN", "CATEGORICAL", "TEXT", "CORRECTION"]

_TRACE_ID = re.compile(r"(?!0{32})[0-9a-f]{32}")
_SPAN_ID = re.compile(r"(?!0{16})[0-9a-f]{16}")
_UNSEEN = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})  # Unicode's spaces, controls and formats
# what Unicode calls a letter, mark or symbol, and shows nothing: fillers, joiners, variation selectors
_EMPTY = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0").union(map(chr, range(0xFE00, 0xFE10)))
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Status(StrEnum):
    """Whether a Score has a value. Only ``scored`` does."""

    SCORED = "scored"
    UNSCORED = "unscored"
    SKIPPED = "skipped"


class Reason(StrEnum):
    """Why a Score has no value. The last two belong to ``skipped``, all others to ``unscored``."""

    REFUSED = "refused"
    TRUNCATED = "truncated"
    CONTENT_FILTERED = "content_filtered"
    EMPTY = "empty"
    MALFORMED = "malformed"
    OUT_OF_RANGE = "out_of_range"
    SUSPECT = "suspect"
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    REJECTED = "rejected"
    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    QUOTA = "quota"
    OVER_BUDGET = "over_budget"
    SCORER_ERROR = "scorer_error"
    NO_BASELINE = "no_baseline"
    NOT_ATTEMPTED = "not_attempted"
    NO_TEXT = "no_text"
    NOT_APPLICABLE = "not_applicable"


SKIP_REASONS = frozenset({Reason.NO_TEXT, Reason.NOT_APPLICABLE})


class Decision(StrEnum):
    """What a run decided about a call that it did not plan. Kept for ``explain``; never a score."""

    DEFERRED = "deferred"
    SAMPLED_OUT = "sampled_out"
    ALREADY_SCORED = "already_scored"


class Verdict(StrEnum):
    """The outcome of a run or a gate."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class TraceRef:
    """The address of one span: ``trace_id`` is 32 lower-case hex digits, ``span_id`` 16.

    Raises ValueError for any other form (upper case and UUID dashes included), and for nothing but zeros:
    OpenTelemetry keeps those for what is no span, and a score of them would be lost on every server.
    """

    trace_id: str
    span_id: str

    def __post_init__(self) -> None:
        if not (isinstance(self.trace_id, str) and _TRACE_ID.fullmatch(self.trace_id)):
            raise ValueError(f"trace_id must be 32 lower-case hex digits, not all 0; got {self.trace_id!r}")
        if not (isinstance(self.span_id, str) and _SPAN_ID.fullmatch(self.span_id)):
            raise ValueError(f"span_id must be 16 lower-case hex digits, not all 0; got {self.span_id!r}")


def _nowhere() -> TraceRef:
    ref = object.__new__(TraceRef)
    object.__setattr__(ref, "trace_id", "0" * 32)
    object.__setattr__(ref, "span_id", "0" * 16)
    return ref


NOWHERE = _nowhere()  # the address of a call that was not traced


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCall:
    """One outermost agent span of a trace, ready to be judged.

    ``output`` is the agent's own text; None or blank when it said nothing. ``truncated`` is True when the
    recorded text was cut. ``text_source`` names where the text was found, for ``explain``.
    """

    trace_id: str = NOWHERE.trace_id
    span_id: str = NOWHERE.span_id
    name: str = ""
    input: str | None = None
    output: str | None = None
    start: datetime = EPOCH
    end: datetime = EPOCH
    environment: str = "default"
    session_id: str | None = None
    user_id: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    service: str | None = None
    version: str | None = None
    error: str | None = None
    truncated: bool = False
    text_source: str | None = None

    @property
    def ref(self) -> TraceRef:
        """The address of the call's span; ``NOWHERE`` for a call that was not traced."""
        if self.trace_id == NOWHERE.trace_id:
            return NOWHERE
        return TraceRef(self.trace_id, self.span_id)

    @property
    def has_text(self) -> bool:
        """Whether there is anything to judge."""
        return not is_blank(self.output)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One scorer's finding about one call.

    ``value`` is None unless ``status`` is ``scored``; then it is a finite float for NUMERIC, 0.0 or 1.0 for
    BOOLEAN, a string otherwise. ``reason_code`` says why there is no value. ``comment`` is readable alone.
    ``metadata`` holds the provenance: what was asked, what was answered, the judge's model, its usage.

    Build one with :meth:`scored`, :meth:`unscored` or :meth:`skipped`. Raises InvalidScoreError for a value
    that is not finite, not of the data type, or missing where it must be there, and for metadata that is no
    mapping (None is an empty one).
    """

    name: str
    status: Status
    value: float | str | None = None
    reason_code: Reason | None = None
    comment: str = ""
    target: TraceRef | None = None
    data_type: DataType = "NUMERIC"
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if type(self.status) is not Status:
            object.__setattr__(self, "status", Status(self.status))
        if self.reason_code is not None:
            object.__setattr__(self, "reason_code", Reason(self.reason_code))
        if not isinstance(self.name, str) or is_blank(self.name):
            raise InvalidScoreError(f"a score needs a name, got {self.name!r}")
        if type(self.comment) is not str:
            object.__setattr__(self, "comment", _as_comment(self.name, self.comment))
        if not isinstance(self.metadata, Mapping):
            object.__setattr__(self, "metadata", _as_metadata(self.name, self.metadata))
        if self.status is Status.SCORED:
            if self.reason_code is not None:
                raise InvalidScoreError(f"{self.name}: a scored score has no reason_code")
            object.__setattr__(self, "value", checked_value(self.name, self.value, self.data_type))
            return
        if self.value is not None:
            raise InvalidScoreError(f"{self.name}: only a scored score has a value, got {self.value!r}")
        if self.reason_code is None or (self.reason_code in SKIP_REASONS) != (self.status is Status.SKIPPED):
            raise InvalidScoreError(f"{self.name}: {self.status} does not go with {self.reason_code!r}")

    @classmethod
    def scored(cls, name: str, value: float | str, **more: Any) -> "Score":
        """A score with a value."""
        return cls(name=name, status=Status.SCORED, value=value, **more)

    @classmethod
    def unscored(cls, name: str, reason: Reason | str, comment: str = "", **more: Any) -> "Score":
        """No score, because judging failed for ``reason``."""
        return cls(name=name, status=Status.UNSCORED, reason_code=Reason(reason), comment=comment, **more)

    @classmethod
    def skipped(cls, name: str, reason: Reason | str, comment: str = "", **more: Any) -> "Score":
        """No score, because there was nothing to judge."""
        return cls(name=name, status=Status.SKIPPED, reason_code=Reason(reason), comment=comment, **more)

    def at(self, target: TraceRef) -> "Score":
        """The same score, addressed to ``target``."""
        return replace(self, target=target)


def is_blank(text: str | None) -> bool:
    """Whether nobody would see anything of ``text``: white space, zero-width and control characters only."""
    return text is None or all(
        character in _EMPTY or unicodedata.category(character) in _UNSEEN for character in text
    )


def checked_value(name: str, value: Any, data_type: DataType = "NUMERIC") -> float | str:
    """``value`` as its data type stores it: float for NUMERIC and BOOLEAN, str for the others.

    Raises InvalidScoreError: True is not a number, NaN and infinities are not scores, "0.4" is not 0.4.
    """
    if data_type == "NUMERIC":
        if isinstance(value, bool) or not isinstance(value, Real):
            raise InvalidScoreError(f"{name}: a NUMERIC score takes a number, got {value!r}")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise InvalidScoreError(f"{name}: a score must be finite, got {value!r}")
        return number
    if data_type == "BOOLEAN":
        if isinstance(value, bool) or (isinstance(value, int | float) and value in (0, 1)):
            return float(value)
        raise InvalidScoreError(f"{name}: a BOOLEAN score takes True, False, 0 or 1, got {value!r}")
    if data_type not in get_args(DataType):
        known = ", ".join(get_args(DataType))
        raise InvalidScoreError(f"{name}: data_type must be one of {known}, got {data_type!r}")
    if not isinstance(value, str) or not value.strip():
        raise InvalidScoreError(f"{name}: a {data_type} score takes a non-empty string, got {value!r}")
    return value


def _as_comment(name: str, comment: Any) -> str:
    """``comment`` as it is stored; None, as a form without a comment gives it, is none."""
    if comment is not None and not isinstance(comment, str):
        raise InvalidScoreError(f"{name}: a comment is a text, got {comment!r}")
    return str(comment or "")


def _as_metadata(name: str, metadata: Any) -> Mapping[str, Any]:
    """None is no metadata; anything else that has no names is refused, for no backend would take it."""
    if metadata is not None:
        raise InvalidScoreError(f"{name}: metadata is a mapping, got a {type(metadata).__name__}")
    return {}


def score_id(project: str, trace_id: str, span_id: str, name: str) -> str:
    """The id of a score, the same on every run and machine: 32 hex digits.

    First 32 hex digits of sha256 over ``project|trace_id|span_id|name`` in UTF-8.
    """
    key = f"{project}|{trace_id}|{span_id}|{name}"
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]
