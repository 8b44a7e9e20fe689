"""What the gate reaches: simulated agents of known fate, with seeds drawn when the test runs."""

import random
from functools import cache

import numpy as np
import pytest
from scipy import stats

from tests.noise.making import ROBUSTNESS, rows_from
from tracehooks.noise.inference import CODES, infer
from tracehooks.noise.ruling import rule_on_noise
from tracehooks.noise.simulation import Design, Rates, draw, simulate
from tracehooks.records import Verdict

RUNS = 1000
SEEDS = tuple(random.SystemRandom().sample(range(2**32), 10))
DESIGN = Design()
SURELY = 1e-5  # how rarely chance alone may fail one of these comparisons


@cache
def rates(seed: int, drop: float) -> Rates:
    return simulate(DESIGN, {"distractors": drop} if drop else None, runs=RUNS, seed=seed)


def at_most(share: float, limit: float) -> bool:
    """Whether ``share`` of the runs may come of a true rate of at most ``limit``."""
    return share * RUNS <= stats.binom.ppf(1 - SURELY, RUNS, limit)


@pytest.mark.parametrize("seed", SEEDS, ids=[f"draw{number}" for number in range(len(SEEDS))])
def test_the_gate_keeps_its_word(seed: int) -> None:
    """40 questions, 3 types, 3 repeats against 9: unchanged, down 0.10 in one type, down 0.05 in one type."""
    unchanged, large, small = (rates(seed, drop) for drop in (0.0, 0.10, 0.05))
    print(f"seed {seed}: unchanged {unchanged}; down 0.10 {large}; down 0.05 {small}")
    assert at_most(unchanged.failed, 0.05)
    assert at_most(1 - unchanged.passed, 0.10)
    assert at_most(1 - large.failed, 0.01)
    assert at_most(small.passed, 0.15)


def test_all_seeds_together_keep_it_without_tolerance() -> None:
    """Ten thousand runs of each kind leave little to chance."""

    def mean(drop: float, outcome: str) -> float:
        return float(np.mean([getattr(rates(seed, drop), outcome) for seed in SEEDS]))

    print(f"seeds {SEEDS}")
    assert mean(0.0, "failed") <= 0.05
    assert mean(0.0, "passed") >= 0.90
    assert mean(0.10, "failed") >= 0.99
    assert mean(0.05, "passed") <= 0.15


@pytest.mark.parametrize("drop", [0.0, 0.05, 0.10])
def test_what_is_simulated_is_what_the_gate_rules(drop: float) -> None:
    """The same scores as rows through the whole gate, default minimum scores on, give the same verdicts."""
    drawn = draw(DESIGN, {"adversarial": drop}, runs=10, rng=np.random.default_rng(SEEDS[0]))
    lost = drawn.reference.mean(axis=-1) - drawn.candidate.mean(axis=-1)
    expected = infer(lost, DESIGN.margin).run_codes
    for candidate, reference, code in zip(drawn.candidate, drawn.reference, expected, strict=True):
        ruling = rule_on_noise(
            rows_from(candidate, DESIGN.noise_types),
            rows_from(reference, DESIGN.noise_types),
            kind=ROBUSTNESS,
        )
        assert ruling.verdict is CODES[code], ruling.reasons


def test_twelve_questions_are_too_few_for_so_small_a_margin_and_it_says_so() -> None:
    """A small dataset mostly stays open, and seldom cries wolf."""
    small = simulate(Design(questions=12), runs=RUNS, seed=SEEDS[0])
    assert small.inconclusive > 0.3
    assert at_most(small.failed, 0.05)


def test_a_dataset_as_large_as_the_remedy_says_mostly_settles_it() -> None:
    """The advice is worth following: with that many questions the same agent gets a verdict."""
    drawn = draw(Design(questions=15), runs=40, rng=np.random.default_rng(SEEDS[1]))
    advice = []
    for candidate, reference in zip(drawn.candidate, drawn.reference, strict=True):
        ruling = rule_on_noise(
            rows_from(candidate, DESIGN.noise_types),
            rows_from(reference, DESIGN.noise_types),
            kind=ROBUSTNESS,
        )
        open_types = [
            one.comparison
            for one in ruling.types
            if one.comparison is not None and one.verdict is Verdict.INCONCLUSIVE
        ]
        advice += [one.remedy.questions for one in open_types if one.remedy.questions]
    assert advice
    assert min(advice) > 15
    assert simulate(Design(questions=int(np.percentile(advice, 90))), runs=RUNS, seed=7).inconclusive < 0.2
