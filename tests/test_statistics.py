"""Intervals: equal to the reference implementation, honest at the edges, right on average."""

import random

import pytest
from scipy.stats import binomtest

from tracehooks.statistics import rate_of, wilson_interval


@pytest.mark.parametrize(
    ("hits", "n"), [(0, 1), (0, 73), (1, 10), (5, 300), (50, 100), (99, 100), (100, 100)]
)
def test_the_interval_is_wilsons(hits: int, n: int) -> None:
    """Against scipy's own."""
    expected = binomtest(hits, n).proportion_ci(confidence_level=0.95, method="wilson")
    low, high = wilson_interval(hits / n, n)
    assert low == pytest.approx(expected.low, abs=1e-12)
    assert high == pytest.approx(expected.high, abs=1e-12)


def test_nothing_scored_says_nothing() -> None:
    """No rate, and an interval that excludes nothing."""
    rate = rate_of([])
    assert (rate.value, rate.low, rate.high, rate.n) == (None, 0.0, 1.0, 0)


def test_equal_probabilities_give_the_plain_share() -> None:
    """Whatever the probability was."""
    hits = [True] * 3 + [False] * 97
    assert rate_of(hits, [0.05] * 100) == rate_of(hits, [1.0] * 100) == rate_of(hits)
    assert rate_of(hits).value == 0.03
    assert rate_of(hits).method == "wilson"


def test_unequal_probabilities_are_weighed_back() -> None:
    """A busy clean agent and a rare toxic one, drawn alike: the rate is that of all calls."""
    rate = rate_of([True] * 10 + [False] * 90, [1.0] * 10 + [90 / 1990] * 90)
    assert rate.method == "weighted"
    assert rate.value == pytest.approx(10 / 2000)
    assert rate.effective_n < 100


def test_the_weighted_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    """Two strata at 2 % and 30 %, sampled unequally; 95 % nominal, at least 91 % of 400 seen."""
    rng = random.Random(4)
    truth = (1800 * 0.02 + 200 * 0.30) / 2000
    covered = 0
    for _ in range(400):
        hits = [rng.random() < 0.02 for _ in range(150)] + [rng.random() < 0.30 for _ in range(50)]
        rate = rate_of(hits, [150 / 1800] * 150 + [50 / 200] * 50)
        covered += rate.low <= truth <= rate.high
    assert covered >= 364
