"""What the store takes in and hands out: plain frozen dataclasses. All times are aware UTC."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

from tracehooks.records import (
    AgentCall,
    DataType,
    Decision,
    Reason,
    Score,
    Status,
    TraceRef,
    Verdict,
)

RunState = Literal["running", "finished", "skipped", "failed", "interrupted", "timed_out"]
ItemState = Literal["planned", "claimed", "done"]


class CallKey(NamedTuple):
    """Where a listing of calls goes on: the place of one call in the order (start, trace id, span id)."""

    start: datetime
    trace_id: str
    span_id: str

    @classmethod
    def of(cls, call: AgentCall) -> "CallKey":
        """The place of ``call``."""
        return cls(call.start, call.trace_id, call.span_id)


class ScoreKey(NamedTuple):
    """Where a listing of scores goes on: the place of one score in the order (call's start, score id)."""

    call_start: datetime
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFilter:
    """Which calls count: each list given must hold the call's value; an empty one does not ask.

    ``name`` may hold shell patterns (``support-*``), case matters. ``tags`` matches a call that has any of
    them. ``level`` tells ERROR, a call that failed, from the others. ``metadata`` must be found in the
    call's, value by value. ``exclude_environments`` takes calls out.
    """

    environment: tuple[str, ...] = ()
    name: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    user_id: tuple[str, ...] = ()
    session_id: tuple[str, ...] = ()
    version: tuple[str, ...] = ()
    level: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    exclude_environments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One planned pass over the calls of a window (start inclusive, end exclusive).

    ``owner`` is the process that works on it, or did last. ``lapsed`` says that its lease was over when the
    run was read: a running run whose owner does not renew it has lost its process.
    """

    id: str
    job: str
    window_start: datetime
    window_end: datetime
    state: RunState = "running"
    verdict: Verdict | None = None
    reasons: tuple[str, ...] = ()
    plan: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, Any] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)
    started: datetime
    ended: datetime | None = None
    owner: str | None = None
    lapsed: bool = False

    @property
    def waiting(self) -> bool:
        """Whether it was put away to wait for its batch at the judge's provider."""
        return self.state == "interrupted" and bool((self.report.get("batch") or {}).get("waiting"))

    @property
    def shift(self) -> str | None:
        """What made its judge another than in the nights before, by its canaries; None where nothing did."""
        return (self.report.get("canaries") or {}).get("reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRow:
    """What a run decided about a call that it did not plan, and why."""

    run_id: str
    trace_id: str
    span_id: str
    decision: Decision
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkItem:
    """One score that a run wants of one call.

    ``probability`` is that of the draw, in (0, 1]. ``token`` is the fencing token: each claim raises it by
    one, and a result is only taken from the holder of the newest. ``attempts`` counts claims. ``seen`` is how
    many results the call had under this name when the item was planned: once it has more, another judged it.
    """

    run_id: str
    trace_id: str
    span_id: str
    score_name: str
    probability: float = 1.0
    stratum: str = ""
    state: ItemState = "planned"
    status: Status | None = None
    reason_code: Reason | None = None
    token: int = 0
    attempts: int = 0
    owner: str | None = None
    seen: int = 0

    @property
    def ref(self) -> TraceRef:
        """The address of the call."""
        return TraceRef(self.trace_id, self.span_id)

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells the item from the others of its run: trace id, span id, score name."""
        return self.trace_id, self.span_id, self.score_name


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRecord:
    """One result to be committed.

    ``score.target``, else the call, says what was scored. Without ``call`` the store looks the call up.
    ``item`` is the claimed work item that it settles. ``rescore`` says that a score which is there already
    is to be replaced (a person's changed mind, or ``--rescore``); without it the first scored one stays.
    ``source`` tells who made it: ``job``, ``hook``, ``feedback``.
    """

    score: Score
    call: AgentCall | None = None
    run_id: str | None = None
    item: WorkItem | None = None
    scorer_version: str = ""
    probability: float | None = None
    source: str = "job"
    rescore: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredScore:
    """A score as the store holds it.

    ``revision`` is 1, and one more for each rescore. ``call_start`` is the scored call's start; where the
    call was not known, the time of the first commit. ``call_name`` is empty then. ``entries`` counts the
    results of its history.
    """

    id: str
    name: str
    status: Status
    value: float | str | None
    reason_code: Reason | None
    comment: str
    trace_id: str
    span_id: str
    data_type: DataType
    metadata: Mapping[str, Any]
    revision: int
    scorer_version: str
    run_id: str | None
    probability: float | None
    call_start: datetime
    call_name: str
    environment: str
    scored_at: datetime
    source: str
    entries: int = 1

    @property
    def ref(self) -> TraceRef:
        """The address of the scored call."""
        return TraceRef(self.trace_id, self.span_id)

    @property
    def key(self) -> ScoreKey:
        """Its place in a listing."""
        return ScoreKey(self.call_start, self.id)

    @property
    def score(self) -> Score:
        """The Score as its scorer made it."""
        return Score(
            name=self.name,
            status=self.status,
            value=self.value,
            reason_code=self.reason_code,
            comment=self.comment,
            target=self.ref,
            data_type=self.data_type,
            metadata=self.metadata,
        )
