"""Whether a judge judges the canaries as it did before: the arithmetic, and nothing else."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Values = Mapping[str, float | None]

NIGHTS = 7  # of history, before anything is said
LEAST_SHARE = 0.8  # of the canaries that must have a value in a night
LEAST_SHIFT = 0.068  # of the distance: two texts of thirty, which were never in doubt, judged the other way
STEADY = 0.1  # how far a value that never moved is taken to move
MOST_LOST = 0.15  # of the agreement with our labels
# one-sided 0.1 % points of Student's t by degrees of freedom: a false alarm in a thousand nights
T_999 = {
    4: 7.173,
    5: 5.893,
    6: 5.208,
    7: 4.785,
    8: 4.501,
    9: 4.297,
    12: 3.930,
    15: 3.733,
    20: 3.552,
    25: 3.450,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """How far a night is from those before it. ``distance`` and ``allowed`` are None without enough history.

    The distance is a mean over the canaries of how far each is from its median so far, within 0 to 1.
    """

    nights: int
    distance: float | None = None
    allowed: float | None = None
    agreement: float | None = None
    usual_agreement: float | None = None

    @property
    def moved(self) -> bool:
        """Whether the values are further from those before than they ever are by chance."""
        return self.distance is not None and self.allowed is not None and self.distance > self.allowed

    @property
    def fell(self) -> bool:
        """Whether the judge agrees with our labels much less than it used to."""
        if self.agreement is None or self.usual_agreement is None:
            return False
        return self.agreement < self.usual_agreement - MOST_LOST

    @property
    def is_shift(self) -> bool:
        """Whether the judge is not what it was."""
        return self.moved or self.fell


def shift_of(
    tonight: Values,
    history: Sequence[Values],
    labels: Mapping[str, bool],
    *,
    threshold: float = 0.0,
    others: Sequence[Values] = (),
) -> Shift:
    """Compare ``tonight`` with nights of the same judge and prompt, and by ``labels`` also with ``others``.

    ``others`` are nights of the same judge with another prompt: there only the agreement can be compared.
    A night with too few values says nothing.
    """
    known = [night for night in history if _is_full(night, labels)]
    if not _is_full(tonight, labels):
        return Shift(nights=len(known))
    agreements = [
        agreement(night, labels, threshold) for night in [*known, *others] if _is_full(night, labels)
    ]
    usual = statistics.fmean(agreements) if len(agreements) >= NIGHTS else None
    now = agreement(tonight, labels, threshold)
    if len(known) < NIGHTS:
        return Shift(nights=len(known), agreement=now, usual_agreement=usual)
    apart = [_distance(night, known[:n] + known[n + 1 :]) for n, night in enumerate(known)]
    return Shift(
        nights=len(known),
        distance=_distance(tonight, known),
        allowed=_allowed(apart),
        agreement=now,
        usual_agreement=usual,
    )


def agreement(values: Values, labels: Mapping[str, bool], threshold: float = 0.0) -> float:
    """The share of the canaries with a value that lie on their label's side of ``threshold``."""
    told = [(value > threshold) == labels[name] for name, value in values.items() if value is not None]
    return sum(told) / len(told)


def _is_full(values: Values, labels: Mapping[str, bool]) -> bool:
    told = sum(values.get(name) is not None for name in labels)
    return told >= LEAST_SHARE * len(labels)


def _distance(values: Values, others: Sequence[Values]) -> float:
    """The weighted mean of how far each value is from its median in ``others``.

    What a judge was never unsure of weighs most: there a change says most.
    """
    apart = weights = 0.0
    for name, value in values.items():
        before = [found for night in others if (found := night.get(name)) is not None]
        if value is None or not before:
            continue
        middle = statistics.median(before)
        weight = 1 / (STEADY + sum(abs(found - middle) for found in before) / len(before))
        apart += weight * abs(value - middle)
        weights += weight
    return apart / weights if weights else 0.0


def _allowed(apart: Sequence[float]) -> float:
    """What chance allows: a prediction bound for one more night, at least a shift worth telling."""
    mean, spread = statistics.fmean(apart), statistics.stdev(apart)
    freedom = max(known for known in T_999 if known < len(apart))
    bound = T_999[freedom] * spread * math.sqrt(1 + 1 / len(apart))
    return mean + max(bound, LEAST_SHIFT)
