"""What would settle an open comparison: how many more questions, or repeats, if the drop stays as it is."""

import math
from dataclasses import dataclass

from tracehooks.noise.inference import LEVEL
from tracehooks.noise.pairing import Spread
from tracehooks.noise.student import quantile

MOST_QUESTIONS = 100_000
MOST_REPEATS = 100  # what the settings allow


@dataclass(frozen=True, slots=True)
class Remedy:
    """How many base questions in all would settle it, or how many repeats of the questions there are.

    None where that alone would not.
    """

    questions: int | None
    repeats: int | None

    def __str__(self) -> str:
        ways = [f"about {self.questions} base questions"] if self.questions else []
        ways += [f"about {self.repeats} repeats of these"] if self.repeats else []
        return f"{' or '.join(ways)} would settle it at this drop" if ways else ""


def remedy_for(
    drop: float, deviation: float, questions: int, *, margin: float, types: int, spread: Spread
) -> Remedy:
    """The remedy for a mean ``drop`` whose single questions deviate by ``deviation`` (standard deviation).

    ``types`` is how many noise types the gate compares: Holm's method asks the more of the first of them.
    """
    if not math.isfinite(drop) or not math.isfinite(deviation) or questions < 2:
        return Remedy(None, None)
    return Remedy(
        questions=_questions(drop, deviation, questions, margin, types),
        repeats=_repeats(deviation, _allowed(drop, questions, margin, types), spread),
    )


def _allowed(drop: float, n: int, margin: float, types: int) -> float:
    """The largest deviation of questions at which ``n`` of them settle it, either way."""
    to_pass = (margin - drop) / float(quantile(1 - LEVEL, n - 1))
    to_fail = drop / float(quantile(1 - LEVEL / types, n - 1))
    return max(to_pass, to_fail, 0.0) * math.sqrt(n)


def _questions(drop: float, deviation: float, n: int, margin: float, types: int) -> int | None:
    low, high = n, n
    while _allowed(drop, high, margin, types) < deviation:
        low, high = high, high * 2
        if low > MOST_QUESTIONS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _allowed(drop, middle, margin, types) < deviation else (low, middle)
    return high


def _repeats(deviation: float, allowed: float, spread: Spread) -> int | None:
    """Repeats only lessen the part of the variance that comes from repeating."""
    surplus = deviation**2 - allowed**2
    if not 0 < surplus < spread.candidate:
        return None
    repeats = math.ceil(spread.repeats * spread.candidate / (spread.candidate - surplus))
    return repeats if repeats <= MOST_REPEATS else None
