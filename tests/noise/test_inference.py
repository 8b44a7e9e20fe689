"""The test behind the gate: against scipy's own, at its edges, and by Holm's example."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tracehooks.noise.inference import CODES, LEVEL, holm, infer
from tracehooks.records import Verdict

MARGIN = 0.05


def verdicts(*drops: list[float], margin: float = MARGIN) -> list[Verdict]:
    widest = max(map(len, drops))
    table = [[*row, *[np.nan] * (widest - len(row))] for row in drops]
    return [CODES[code] for code in infer(table, margin).codes]


def test_bounds_and_p_values_are_those_of_students_t_test() -> None:
    """Against scipy's one-sample test, with another number of questions in each type."""
    rng = np.random.default_rng(20260101)
    drops = rng.normal(0.03, 0.1, (3, 12))
    drops[1, 7:] = np.nan
    found = infer(drops, MARGIN)
    for row, p, low, high in zip(drops, found.p, found.low, found.high, strict=True):
        test = stats.ttest_1samp(row[~np.isnan(row)], 0, alternative="greater")
        interval = test.confidence_interval(1 - LEVEL)
        assert p == pytest.approx(test.pvalue)
        assert low == pytest.approx(interval.low)
        assert high == pytest.approx(2 * np.nanmean(row) - interval.low)
    assert found.questions.tolist() == [12, 7, 12]


def test_holm_multiplies_by_the_hypotheses_still_open() -> None:
    """The textbook example: 0.01, 0.02, 0.03 and 0.04 become 0.04, 0.06, 0.06, 0.06, in any order."""
    assert holm(np.array([0.03, 0.01, 0.04, 0.02])) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm(np.array([0.9, 0.8])) == pytest.approx([1.0, 1.0])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_never_makes_a_p_value_smaller_and_keeps_their_order(p: list[float]) -> None:
    """It only ever asks for more."""
    adjusted = holm(np.array(p))
    assert (adjusted >= np.array(p)).all()
    assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0).all()


def test_a_type_passes_fails_or_stays_open() -> None:
    """Surely within the margin; a significant drop beyond; neither."""
    small, large, open_ = [0.01, -0.01] * 10, [0.2, 0.1] * 10, [0.3, -0.2] * 10
    assert verdicts(small, large, open_) == [Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE]


def test_a_significant_drop_that_is_surely_within_the_margin_passes() -> None:
    """The margin says what may be lost; what is surely less is no failure."""
    assert verdicts([0.02, 0.021] * 20) == [Verdict.PASS]


def test_a_gain_never_fails() -> None:
    """Better is not worse, however sure."""
    assert verdicts([-0.3, -0.2] * 10) == [Verdict.PASS]


def test_drops_that_are_all_alike_leave_no_doubt() -> None:
    """A deterministic agent: no spread, no division by zero."""
    assert verdicts([0.0] * 5, [0.9] * 5, [0.05] * 5) == [Verdict.PASS, Verdict.FAIL, Verdict.PASS]
    assert verdicts([0.9 - 0.85] * 5) == [Verdict.PASS]


@pytest.mark.parametrize("drops", [[], [0.0], [0.9]])
def test_fewer_than_two_questions_say_nothing(drops: list[float]) -> None:
    """One question tells nothing of the next."""
    found = infer([[*drops, *[np.nan] * (2 - len(drops))]], MARGIN)
    assert CODES[found.codes[0]] is Verdict.INCONCLUSIVE
    assert (found.high[0], found.p[0], found.detectable[0]) == (np.inf, 1.0, np.inf)


def test_runs_are_independent_of_each_other() -> None:
    """Many at once give what each gives alone."""
    rng = np.random.default_rng(5)
    drops = rng.normal(0.02, 0.1, (20, 3, 15))
    together = infer(drops, MARGIN)
    assert together.codes.tolist() == [infer(one, MARGIN).codes.tolist() for one in drops]
    assert together.run_codes.tolist() == together.codes.min(axis=1).tolist()


def test_the_detectable_drop_is_found_four_times_in_five() -> None:
    """What is said to have been visible is, with the chance that is named."""
    rng = np.random.default_rng(11)
    size, deviation = 40, 0.1
    expected = infer(rng.normal(0, deviation, (4000, 1, size)), MARGIN).detectable.mean()
    seen = infer(rng.normal(expected, deviation, (4000, 1, size)), MARGIN)
    assert (seen.adjusted <= LEVEL).mean() == pytest.approx(0.8, abs=0.03)
