"""The test behind the gate: is a noise type's drop surely small, surely there, or neither?

Its unit is the base question. Each question gives one number for a noise type: how much its answers lost
against the reference, the mean over its variants, each variant against itself. Variants and repeats of one
question are not independent, whole questions are. On the drops of ``n`` questions:

- *non-inferior*: the upper bound of the mean drop, Student's t with n - 1 degrees of freedom, one-sided at
  ``LEVEL``, is within the margin (the usual test of non-inferiority; ICH E9, section 3.3.2);
- *significant*: the one-sided t-test against no drop, its p value adjusted over the noise types by Holm's
  method (S. Holm, Scandinavian Journal of Statistics 6 (1979), 65-70), is at most ``LEVEL``;
- a type *passes* when it is non-inferior, *fails* when it is not and its drop is significant, and is
  *inconclusive* otherwise. A run takes the worst of its types.

Why ``LEVEL`` is 0.05: with 40 questions, 3 noise types, 3 repeats against a reference of 9, agent and judge
noise of 0.10 each and a margin of 0.05, an unchanged agent fails 2.7 % of nights and passes 95 %, a drop of
0.10 in one type always fails, and a drop of 0.05 passes 11 % (``benchmarks/noise_gate.py`` prints it). At
0.025 an unchanged agent would pass only 89 %; at 0.10 a drop of 0.05 would pass 21 %.

Everything here works on whole arrays: the last axis is questions, the one before it noise types, NaN stands
for no question; further axes before these are independent runs.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracehooks.noise.student import quantile, survival
from tracehooks.records import Verdict

Array = NDArray[np.float64]

LEVEL = 0.05
POWER = 0.8
CODES = (Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.PASS)
"""What the numbers 0, 1 and 2 in ``Inference.codes`` stand for; the lowest of several wins."""

_TINY = 1e-9  # rounding: 0.9 - 0.85 is more than 0.05


@dataclass(frozen=True, slots=True)
class Inference:
    """What the drops allow one to say, one entry for each noise type.

    ``drop`` is the mean over questions, positive when worse; ``low`` and ``high`` are its one-sided bounds;
    ``error`` its standard error; ``p`` the p value of "there is a drop", ``adjusted`` after Holm;
    ``detectable`` the smallest drop that would have been found significant with a chance of ``POWER``.
    With fewer than two questions nothing is known: infinite bounds, p 1.
    """

    questions: NDArray[np.int64]
    drop: Array
    error: Array
    low: Array
    high: Array
    p: Array
    adjusted: Array
    detectable: Array
    codes: NDArray[np.int64]

    @property
    def run_codes(self) -> NDArray[np.int64]:
        """One code for each run: the worst of its types."""
        worst: NDArray[np.int64] = self.codes.min(axis=-1)
        return worst


def infer(drops: Any, margin: float, level: float = LEVEL) -> Inference:
    """What ``drops``, an array (..., noise types, questions), allows one to say about each noise type."""
    drops = np.asarray(drops, dtype=float)
    known = ~np.isnan(drops)
    n = known.sum(axis=-1)
    drop, error = _mean_and_error(np.where(known, drops, 0.0), known, n)
    df = np.maximum(n - 1, 1)
    reach = np.where(n > 1, quantile(1 - level, df) * error, np.inf)
    p = _p_value(drop, error, df)
    adjusted = holm(p)
    strictest = quantile(1 - level / p.shape[-1], df) + quantile(POWER, df)
    passes = drop + reach <= margin + _TINY
    fails = ~passes & (adjusted <= level) & (drop > _TINY)
    return Inference(
        questions=n,
        drop=np.where(n > 0, drop, np.nan),
        error=error,
        low=drop - reach,
        high=drop + reach,
        p=p,
        adjusted=adjusted,
        detectable=np.where(n > 1, strictest * np.where(n > 1, error, 0.0), np.inf),
        codes=np.where(passes, 2, np.where(fails, 0, 1)),
    )


def holm(p: Array) -> Array:
    """``p`` values adjusted by Holm's method over the last axis."""
    order = np.argsort(p, axis=-1)
    count = p.shape[-1]
    stepped = np.take_along_axis(p, order, axis=-1) * (count - np.arange(count))
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, np.maximum.accumulate(stepped, axis=-1), axis=-1)
    return np.minimum(adjusted, 1.0)


def _mean_and_error(values: Array, known: NDArray[np.bool_], n: NDArray[np.int64]) -> tuple[Array, Array]:
    """The mean of the known ``values`` and its standard error; infinite where fewer than two are known."""
    mean = values.sum(axis=-1) / np.maximum(n, 1)
    squares = np.where(known, (values - mean[..., None]) ** 2, 0.0).sum(axis=-1)
    variance = squares / np.maximum(n - 1, 1)
    return mean, np.where(n > 1, np.sqrt(variance / np.maximum(n, 1)), np.inf)


def _p_value(drop: Array, error: Array, df: NDArray[np.int64]) -> Array:
    """The one-sided p value of a drop: 0 where all questions dropped alike, 1 where none did."""
    finite = np.isfinite(error)
    divisor = np.where(finite & (error > _TINY), error, 1.0)
    p = survival(drop / divisor, df)
    alike = finite & (error <= _TINY)
    return np.where(~finite, 1.0, np.where(alike, np.where(drop > _TINY, 0.0, 1.0), p))
