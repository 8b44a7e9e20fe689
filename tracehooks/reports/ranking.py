"""Agents ranked: the latest noise run of each over the same datasets, with means, intervals and grades."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tracehooks.noise.rows import NoiseRow, ScoreKind, by_type, summarize
from tracehooks.reference import Conditions, unlike
from tracehooks.replay.rows import noise_rows
from tracehooks.reports import standing
from tracehooks.reports.gate import NOISE, kind_of
from tracehooks.scorers.noise_scoring import noise_grade
from tracehooks.store import RunRecord, Store

CONFIDENCE = 0.95
LOOKED_AT = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """The mean over ``n`` base questions, with its interval at 95 %; None where nothing, or one, is known."""

    value: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """One agent. ``behind`` is the paired difference to the first, positive when it is worse."""

    agent: str
    run: RunRecord
    mean: Mean
    grade: str
    scored: int
    wanted: int
    types: Mapping[str, tuple[float | None, str]]
    behind: Mean | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The agents, best first, and those whose runs cannot be compared with the latest, with the reasons."""

    ranked: tuple[Ranked, ...]
    left_out: tuple[tuple[str, tuple[str, ...]], ...]
    datasets: tuple[str, ...]
    score: str


def ranking(store: Store) -> Ranking | None:
    """Rank the latest settled noise run of each agent, version and target; None when there is none.

    Those made under the conditions of the latest of all are compared: the same datasets, judge and scorer.
    """
    runs = list(_latest_of_each(store.runs.list(NOISE, limit=LOOKED_AT)))
    if not runs:
        return None
    kind, first = kind_of(runs[0]), Conditions.of(runs[0].plan)
    differing = [(run, _unlike(first, run)) for run in runs]
    kept = {run.id: noise_rows(store, run) for run, found in differing if not found}
    ranked = [_ranked(run, kept[run.id], kind) for run, found in differing if not found]
    ranked.sort(key=lambda one: _rank(one, kind))
    return Ranking(
        ranked=tuple(
            replace(one, behind=_behind(kept[ranked[0].run.id], kept[one.run.id], kind))
            if one is not ranked[0]
            else one
            for one in ranked
        ),
        left_out=tuple((label(run), tuple(found)) for run, found in differing if found),
        datasets=tuple(sorted(first.datasets)),
        score=kind.name,
    )


def label(run: RunRecord) -> str:
    """What an agent is called: as it was asked for, its version behind it."""
    plan = run.plan
    name, given = str(plan.get("agent")), plan.get("agent_given")
    called = f"{name} ({given})" if given and given != name else name
    return f"{called} {plan['agent_version']}" if plan.get("agent_version") else called


def _latest_of_each(runs: Iterable[RunRecord]) -> Iterable[RunRecord]:
    seen: set[tuple[object, ...]] = set()
    for run in runs:
        key = tuple(run.plan.get(name) for name in ("agent", "agent_version", "agent_target"))
        if standing.settled(run) is not None and key not in seen:
            seen.add(key)
            yield run


def _unlike(first: Conditions, run: RunRecord) -> list[str]:
    now = replace(Conditions.of(run.plan), agent=first.agent)
    return unlike(first, now, ("the latest run", "this one"))


def _ranked(run: RunRecord, rows: Sequence[NoiseRow], kind: ScoreKind) -> Ranked:
    mean = mean_of(list(_questions(rows).values()))
    whole = summarize(rows, kind, 0.0)
    types = {name: summarize(group, kind, 0.0).mean for name, group in by_type(rows).items()}
    return Ranked(
        agent=label(run),
        run=run,
        mean=mean,
        grade=_grade(mean.value, kind),
        scored=whole.scored,
        wanted=whole.wanted,
        types={name: (value, _grade(value, kind)) for name, value in types.items()},
    )


def _rank(one: Ranked, kind: ScoreKind) -> tuple[bool, float, str]:
    value = one.mean.value
    return value is None, 0.0 if value is None else -kind.sign * value, one.agent


def _grade(value: float | None, kind: ScoreKind) -> str:
    known = value is not None and kind.direction == "higher" and kind.range == (0.0, 1.0)
    return noise_grade(value) if known and value is not None else "–"


def _questions(rows: Iterable[NoiseRow]) -> dict[str, float]:
    """The mean of each base question: answers to one question are no independent evidence."""
    found: dict[str, list[float]] = {}
    for row in rows:
        if row.value is not None:
            found.setdefault(row.case, []).append(row.value)
    return {case: sum(values) / len(values) for case, values in found.items()}


def _behind(first: Sequence[NoiseRow], other: Sequence[NoiseRow], kind: ScoreKind) -> Mean:
    best, own = _questions(first), _questions(other)
    return mean_of([kind.sign * (best[case] - own[case]) for case in sorted(best.keys() & own.keys())])


def mean_of(values: Sequence[float]) -> Mean:
    """The mean with its interval by Student's t; without one where fewer than two values are known."""
    n = len(values)
    if not n:
        return Mean(value=None, low=None, high=None, n=0)
    mean = math.fsum(values) / n
    if n < 2:
        return Mean(value=mean, low=None, high=None, n=n)
    from tracehooks.noise.student import quantile

    error = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1) / n)
    reach = float(quantile((1 + CONFIDENCE) / 2, n - 1)) * error
    return Mean(value=mean, low=mean - reach, high=mean + reach, n=n)
