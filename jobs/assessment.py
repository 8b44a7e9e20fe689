"""What a window's stored scores say: how many are toxic, how many are missing, and which are the worst."""

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from typing import Any

from tracehooks.records import Status
from tracehooks.settings import FilterSettings
from tracehooks.statistics import Rate, rate_of
from tracehooks.store import CallFilter, RunRecord, Store, StoredScore

WORST = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """The figures of a window: all its calls that have a score of this name, whenever they were scored.

    ``missing`` = unscored + not attempted. ``mean`` is over the scored calls. ``worst`` are the toxic ones
    with the highest values first. ``agents`` has the same figures for each agent by its own calls.
    """

    score_name: str
    threshold: float
    rate: Rate
    toxic: int
    mean: float | None
    unscored: Mapping[str, int]
    skipped: Mapping[str, int]
    not_attempted: int
    worst: tuple[StoredScore, ...]
    input_tokens: int = 0
    output_tokens: int = 0
    judge_models: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    agents: Mapping[str, "Assessment"] = field(default_factory=dict)

    @property
    def missing(self) -> int:
        """Calls that should have a score and have none."""
        return sum(self.unscored.values()) + self.not_attempted

    @property
    def planned(self) -> int:
        """Scored, unscored and skipped together."""
        return self.rate.n + self.missing + sum(self.skipped.values())

    @property
    def covered(self) -> bool:
        """Whether every call that should be judged was; only then the next window may follow."""
        return not self.not_attempted and (self.rate.n > 0 or not self.missing)

    def as_dict(self) -> dict[str, Any]:
        """The figures as JSON-ready values."""
        return {
            "score": self.score_name,
            "direction": "lower",
            "threshold": self.threshold,
            "planned": self.planned,
            "scored": self.rate.n,
            "unscored": dict(self.unscored),
            "skipped": dict(self.skipped),
            "not_attempted": self.not_attempted,
            "coverage": self.rate.n / (self.rate.n + self.missing) if self.rate.n + self.missing else None,
            "toxic": self.toxic,
            "mean": self.mean,
            "rate": asdict(self.rate),
            "worst": [_worst_entry(score) for score in self.worst],
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "judge_models": list(self.judge_models),
            "scorer_versions": list(self.versions),
            "covered": self.covered,
            "degraded": self.missing > 0,
        }


def _worst_entry(score: StoredScore) -> dict[str, Any]:
    return {
        "trace_id": score.trace_id,
        "span_id": score.span_id,
        "value": score.value,
        "band": score.metadata.get("band"),
        "comment": score.comment,
    }


@dataclass
class _Sums:
    hits: list[bool] = field(default_factory=list)
    probabilities: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    unscored: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    worst: list[StoredScore] = field(default_factory=list)
    tokens: Counter[str] = field(default_factory=Counter)
    models: set[str] = field(default_factory=set)
    versions: set[str] = field(default_factory=set)
    agents: dict[str, "_Sums"] = field(default_factory=dict)


def assess(store: Store, run: RunRecord, probabilities: Mapping[tuple[str, str], float]) -> Assessment:
    """Read the window's scores back and add them up.

    ``probabilities`` are those of this run's draw; a score from elsewhere counts with its own.
    """
    name, threshold = run.plan["score_name"], run.plan["threshold"]
    sums = _Sums()
    for score in _scores(store, run):
        _add(sums, score, threshold, probabilities)
        if score.call_name:
            _add(sums.agents.setdefault(score.call_name, _Sums()), score, threshold, probabilities)
    agents = {agent: _assessment(name, threshold, of_agent, 0) for agent, of_agent in sums.agents.items()}
    return replace(_assessment(name, threshold, sums, store.items.remaining(run.id)), agents=agents)


def _assessment(name: str, threshold: float, sums: _Sums, left: int) -> Assessment:
    return Assessment(
        score_name=name,
        threshold=threshold,
        rate=rate_of(sums.hits, sums.probabilities),
        toxic=sum(sums.hits),
        mean=sum(sums.values) / len(sums.values) if sums.values else None,
        unscored=sums.unscored,
        skipped=sums.skipped,
        not_attempted=left,
        worst=tuple(heapq.nlargest(WORST, sums.worst, key=unrounded)),
        input_tokens=sums.tokens["input_tokens"],
        output_tokens=sums.tokens["output_tokens"],
        judge_models=tuple(sorted(sums.models)),
        versions=tuple(sorted(sums.versions)),
    )


def _scores(store: Store, run: RunRecord) -> Iterator[StoredScore]:
    """The window's scores, and this run's own of calls that came late to an earlier window."""
    filters = CallFilter(**FilterSettings(**run.plan["filters"]).model_dump())
    early = run.window_start - timedelta(seconds=run.plan["lookback_seconds"])
    for score in store.scores.in_window(run.plan["score_name"], early, run.window_end, filters):
        if score.run_id == run.id or (score.call_start is not None and score.call_start >= run.window_start):
            yield score


def _add(
    sums: _Sums, score: StoredScore, threshold: float, probabilities: Mapping[tuple[str, str], float]
) -> None:
    if score.status is Status.UNSCORED:
        sums.unscored[str(score.reason_code)] += 1
    elif score.status is Status.SKIPPED:
        sums.skipped[str(score.reason_code)] += 1
    else:
        value = unrounded(score)
        sums.hits.append(value > threshold)
        sums.values.append(value)
        drawn = probabilities.get((score.trace_id, score.span_id))
        sums.probabilities.append(drawn or score.probability or 1.0)
        if value > threshold:
            sums.worst.append(score)
    usage = score.metadata.get("usage") or {}
    for key in ("input_tokens", "output_tokens"):
        sums.tokens[key] += usage.get(key) or 0
    if score.metadata.get("judge_model"):
        sums.models.add(score.metadata["judge_model"])
    sums.versions.add(score.scorer_version)


def unrounded(score: StoredScore) -> float:
    """The value before rounding, where the scorer kept it: thresholds look at that one."""
    value = score.metadata.get("unrounded", score.value)
    assert isinstance(value, float | int)
    return float(value)
