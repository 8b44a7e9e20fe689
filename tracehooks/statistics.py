"""Rates with intervals: what a sample says about all calls, and how surely."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate with its interval. ``value`` is None when nothing was scored; then the interval is 0..1.

    ``n`` counts the scored calls; ``effective_n`` is what they are worth when they were drawn with unequal
    probabilities. ``method`` names the estimator.
    """

    value: float | None
    low: float
    high: float
    n: int
    effective_n: float
    confidence: float
    method: str


def wilson_interval(rate: float, n: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The Wilson score interval of a rate seen in ``n`` draws; ``n`` may be an effective sample size.

    Source: E. B. Wilson, Journal of the American Statistical Association 22 (1927), 209-212.
    """
    if n <= 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    low = 0.0 if rate == 0 else max(0.0, centre - half)
    high = 1.0 if rate == 1 else min(1.0, centre + half)
    return low, high


def rate_of(
    hits: Sequence[bool], probabilities: Sequence[float] | None = None, confidence: float = CONFIDENCE
) -> Rate:
    """The rate of hits among all calls, from a sample whose draws had these ``probabilities`` (0 < p <= 1).

    Equal probabilities: the plain share with its Wilson interval. Unequal ones: the Hajek ratio estimate
    (each call weighs 1/p), and a Wilson interval at Kish's effective sample size.
    """
    n = len(hits)
    if not n:
        return Rate(None, 0.0, 1.0, 0, 0.0, confidence, "none")
    weights = [1.0] * n if probabilities is None else [1.0 / p for p in probabilities]
    if max(weights) - min(weights) < 1e-9 * max(weights):
        value, effective, method = sum(hits) / n, float(n), "wilson"
    else:
        total = math.fsum(weights)
        value = math.fsum(w for w, hit in zip(weights, hits, strict=True) if hit) / total
        effective = total**2 / math.fsum(w * w for w in weights)
        method = "weighted"
    low, high = wilson_interval(value, effective, confidence)
    return Rate(value, low, high, n, effective, confidence, method)
