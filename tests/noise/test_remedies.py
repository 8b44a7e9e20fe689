"""Remedies: how much more would settle an open comparison."""

import math

import numpy as np
import pytest

from tracehooks.noise.inference import Array, infer
from tracehooks.noise.pairing import Spread
from tracehooks.noise.remedies import remedy_for

NO_SPREAD = Spread(candidate=0.0, reference=0.0, repeats=1.0)


def drops(mean: float, deviation: float, n: int) -> Array:
    """``n`` drops with exactly this mean and standard deviation."""
    raw = np.linspace(-1, 1, n)
    exact: Array = mean + raw / raw.std(ddof=1) * deviation
    return exact


@pytest.mark.parametrize(("mean", "settled"), [(0.02, 2), (0.08, 0), (-0.01, 2)])
def test_that_many_questions_settle_it_and_fewer_do_not(mean: float, settled: int) -> None:
    """Passing where the drop is within the margin, failing where it is beyond."""
    remedy = remedy_for(mean, 0.2, 10, margin=0.05, types=1, spread=NO_SPREAD)
    assert remedy.questions is not None
    assert infer([drops(mean, 0.2, remedy.questions)], 0.05).codes.tolist() == [settled]
    assert infer([drops(mean, 0.2, remedy.questions - 1)], 0.05).codes.tolist() == [1]
    assert remedy.repeats is None


def test_more_repeats_help_only_against_what_repeats_cause() -> None:
    """The part of the variance that comes from repeating can be lessened, the rest cannot."""
    noisy = Spread(candidate=0.03, reference=0.0, repeats=3.0)
    remedy = remedy_for(0.0, 0.2, 20, margin=0.05, types=1, spread=noisy)
    assert remedy.repeats is not None
    left = math.sqrt(0.2**2 - 0.03 + 0.03 * 3 / remedy.repeats)
    assert infer([drops(0.0, left, 20)], 0.05).codes.tolist() == [2]
    steady = Spread(candidate=0.001, reference=0.0, repeats=3.0)
    assert remedy_for(0.0, 0.2, 20, margin=0.05, types=1, spread=steady).repeats is None


def test_what_cannot_be_told_has_no_remedy() -> None:
    """One question, or a drop that is the margin itself."""
    assert str(remedy_for(0.0, math.inf, 1, margin=0.05, types=1, spread=NO_SPREAD)) == ""
    assert remedy_for(0.0, 5.0, 5, margin=0.0, types=3, spread=NO_SPREAD).questions is None
    assert str(remedy_for(0.02, 0.2, 10, margin=0.05, types=1, spread=NO_SPREAD)).endswith("at this drop")
