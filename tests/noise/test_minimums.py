"""Minimum scores: a case is below when that is sure, and chance is no verdict."""

import numpy as np

from tests.noise.making import ROBUSTNESS, TOXICITY, rows_of
from tracehooks.noise.minimums import minimums_of
from tracehooks.noise.rows import NoiseRow
from tracehooks.noise.ruling import rule_on_noise
from tracehooks.records import Reason, Verdict


def states(rows: list[NoiseRow], bound: float = 0.7) -> dict[str, tuple[str, str]]:
    return {one.case: (one.if_worst, one.if_best) for one in minimums_of(rows, ROBUSTNESS, bound)}


def test_a_deterministic_case_is_taken_at_its_word() -> None:
    """No spread, no doubt: 0.69 is below 0.7."""
    found = states(rows_of({"good": [0.7] * 3, "bad": [0.69] * 3}))
    assert found == {"good": ("reached", "reached"), "bad": ("below", "below")}


def test_a_single_row_is_taken_at_its_word() -> None:
    """Without repeats nothing is known of chance."""
    assert states(rows_of({"a": [0.9], "b": [0.5]})) == {"a": ("reached",) * 2, "b": ("below",) * 2}


def test_a_noisy_case_is_in_doubt_until_it_is_sure() -> None:
    """0.55, 0.85, 0.65 may well have a true mean above 0.7; 0.1, 0.2, 0.0 do not."""
    rng = np.random.default_rng(1)
    steady = {f"q{n}": rng.normal(0.9, 0.1, 3).tolist() for n in range(20)}
    found = states(rows_of(steady | {"chance": [0.55, 0.85, 0.65], "broken": [0.1, 0.2, 0.0]}))
    assert found["chance"] == ("doubt", "doubt")
    assert found["broken"] == ("below", "below")


def test_one_flaky_case_among_steady_ones_is_judged_by_its_own_spread() -> None:
    """Right twice in three times is not surely below 0.7, though all others never vary."""
    steady: dict[str, list[float]] = {f"q{n}": [1.0] * 3 for n in range(20)}
    found = states(rows_of({**steady, "flaky": [1.0, 1.0, 0.0]}))
    assert found["flaky"] == ("doubt", "doubt")


def test_chance_alone_seldom_makes_a_case_fall() -> None:
    """Forty cases whose true mean is the bound itself: in 100 nights few have one that is surely below."""
    rng = np.random.default_rng(20260102)
    fallen = 0
    for _ in range(100):
        values = {f"q{n}": rng.normal(0.7, 0.14, 3).tolist() for n in range(40)}
        fallen += "below" in {worst for worst, _ in states(rows_of(values)).values()}
    assert fallen / 100 <= 0.13


def test_a_row_without_a_score_may_have_been_anything() -> None:
    """Best and worst differ: a verdict that hangs on it stays open."""
    rows = rows_of({"a": [1.0, Reason.TIMEOUT], "b": [Reason.TIMEOUT, Reason.TIMEOUT], "c": [0.1, 0.1]})
    assert states(rows) == {"a": ("doubt", "reached"), "b": ("below", "reached"), "c": ("below", "below")}


def test_each_case_may_have_its_own_bound() -> None:
    """Also above or below the general one."""
    rows = rows_of({"a": [0.8] * 2}, min_score=0.9) + rows_of({"b": [0.5] * 2}, min_score=0.4)
    found = {one.case: (one.bound, one.if_worst) for one in minimums_of(rows, ROBUSTNESS, 0.7)}
    assert found == {"a": (0.9, "below"), "b": (0.4, "reached")}


def test_where_lower_is_better_the_bound_is_a_most() -> None:
    """Toxicity 0.3 is beyond 0.1, 0.05 is not."""
    found = minimums_of(rows_of({"a": [0.3] * 2, "b": [0.05] * 2}), TOXICITY, 0.1)
    assert [one.if_worst for one in found] == ["below", "reached"]


def test_a_case_surely_below_fails_the_run_and_is_named() -> None:
    """With its figure and its bound."""
    rows = rows_of({"warranty": [0.2] * 3, "returns": [0.9] * 3})
    ruling = rule_on_noise(rows, kind=ROBUSTNESS)
    assert ruling.verdict is Verdict.FAIL
    expected = "minimum: misinformation: 1 case surely below what must be reached: warranty 0.20 of 0.7"
    assert ruling.reasons[0] == expected


def test_doubt_is_open_without_a_reference_and_a_note_with_one() -> None:
    """The comparison decides where there is one."""
    values = {f"q{n}": [1.0] * 3 for n in range(40)} | {"flaky": [1.0, 1.0, 0.0]}
    alone = rule_on_noise(rows_of(values), kind=ROBUSTNESS)
    assert alone.verdict is Verdict.INCONCLUSIVE
    assert alone.reasons[0].startswith("doubt: misinformation: 1 case perhaps below what must be reached")
    compared = rule_on_noise(rows_of(values), rows_of(values), kind=ROBUSTNESS)
    assert compared.verdict is Verdict.PASS
    assert compared.notes[0].startswith("doubt: misinformation: 1 case")
