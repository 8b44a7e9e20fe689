"""Minimum scores: whether each case, under each noise type, reaches what it must.

A mean of three noisy answers falls below a bound by chance, so a case counts as *below* only when that is
sure: a one-sided t-test of its mean against the bound at ``LEVEL``, adjusted over all cases by Holm's method,
with the larger of the case's own spread between repeats and its noise type's. Where nothing varies, or
nothing was repeated, the mean is taken at its word. A mean that is below and not surely so is *in doubt*.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tracehooks.noise.inference import LEVEL, Array, holm
from tracehooks.noise.rows import NoiseRow, ScoreKind, bound_of
from tracehooks.noise.student import survival
from tracehooks.records import Verdict

State = Literal["reached", "doubt", "below"]
_TINY = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Minimum:
    """One case under one noise type and its bound. ``mean`` is over its ``scored`` rows of ``wanted``.

    ``if_worst`` and ``if_best`` are its states were all its rows without a score worst or best; the same when
    none is missing.
    """

    case: str
    noise_type: str
    bound: float
    mean: float | None
    scored: int
    wanted: int
    if_worst: State
    if_best: State

    def verdict(self, *, doubt: Verdict) -> Verdict:
        """Fails when surely below whatever is missing; ``doubt`` is the verdict where it is not sure."""
        if self.if_best == "below":
            return Verdict.FAIL
        if self.if_worst == "below":
            return Verdict.INCONCLUSIVE
        return doubt if self.if_worst == "doubt" else Verdict.PASS


def minimums_of(rows: Sequence[NoiseRow], kind: ScoreKind, min_score: float) -> list[Minimum]:
    """Each case under each noise type, in their order; ``min_score`` is for those without their own."""
    units = _units(rows, kind, min_score)
    worst, best = (_states(units, kind, fill) for fill in (kind.worst, kind.best))
    return [
        Minimum(
            case=unit.case,
            noise_type=unit.noise_type,
            bound=unit.bound,
            mean=float(np.nanmean(unit.values)) if unit.scored else None,
            scored=unit.scored,
            wanted=len(unit.values),
            if_worst=if_worst,
            if_best=if_best,
        )
        for unit, if_worst, if_best in zip(units, worst, best, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Unit:
    """The values of one case under one noise type, NaN where missing; ``variants`` says whose each is."""

    case: str
    noise_type: str
    bound: float
    values: Array
    variants: tuple[str, ...]

    @property
    def scored(self) -> int:
        return int((~np.isnan(self.values)).sum())

    def filled(self, value: float) -> Array:
        return np.where(np.isnan(self.values), value, self.values)

    def squares(self, values: Array) -> tuple[float, int]:
        """The sum of squares within variants, and its degrees of freedom; NaN is left out."""
        total, df = 0.0, 0
        for variant in dict.fromkeys(self.variants):
            own = values[[name == variant for name in self.variants]]
            own = own[~np.isnan(own)]
            if len(own) > 1:
                total += float(((own - own.mean()) ** 2).sum())
                df += len(own) - 1
        return total, df


def _units(rows: Sequence[NoiseRow], kind: ScoreKind, min_score: float) -> list[_Unit]:
    grouped: dict[tuple[str, str, float], list[NoiseRow]] = {}
    for row in rows:
        if row.applicable:
            grouped.setdefault((row.case, row.noise_type, bound_of(row, min_score)), []).append(row)
    return [
        _Unit(
            *key,
            np.array([np.nan if row.value is None else row.value for row in group], dtype=float),
            tuple(row.variant for row in group),
        )
        for key, group in grouped.items()
    ]


def _states(units: Sequence[_Unit], kind: ScoreKind, fill: float) -> list[State]:
    """The state of each unit with its missing rows at ``fill``."""
    spreads = _spreads(units)
    short = np.array([kind.sign * (unit.bound - float(unit.filled(fill).mean())) for unit in units])
    errors = [_error(unit, unit.filled(fill), spreads[unit.noise_type]) for unit in units]
    sure = holm(_p_values(short, np.array(errors).reshape(-1, 2))) <= LEVEL
    return [
        "reached" if lack <= _TINY else "below" if below else "doubt"
        for lack, below in zip(short, sure, strict=True)
    ]


def _p_values(short: Array, errors: Array) -> Array:
    """The p values of "this case is below": from how far it is, its error and its degrees of freedom."""
    error, df = errors[:, 0], errors[:, 1]
    doubtful = (error > _TINY) & np.isfinite(short)
    p = survival(short / np.where(doubtful, error, 1.0), np.maximum(df, 1))
    return np.where(short <= _TINY, 1.0, np.where(doubtful, p, 0.0))


def _spreads(units: Sequence[_Unit]) -> dict[str, tuple[float, int]]:
    """Each noise type's variance within variants, over its scored rows, and its degrees of freedom."""
    totals: dict[str, tuple[float, int]] = {}
    for unit in units:
        total, df = unit.squares(unit.values)
        before = totals.get(unit.noise_type, (0.0, 0))
        totals[unit.noise_type] = (before[0] + total, before[1] + df)
    return {name: (total / df if df else 0.0, df) for name, (total, df) in totals.items()}


def _error(unit: _Unit, values: Array, pooled: tuple[float, int]) -> tuple[float, int]:
    """The standard error of the mean of a unit with these ``values``, and its degrees of freedom.

    Its own few repeats may vary little by chance, so the type's spread is the least that is assumed.
    """
    total, own_df = unit.squares(np.where(np.isfinite(values), values, np.nan))
    variance = max(total / own_df if own_df else 0.0, pooled[0])
    return float(np.sqrt(variance / len(values))), max(own_df, pooled[1])
