"""Canaries: a swapped judge is found, and one that is the same is left alone."""

from collections import Counter
from itertools import product

import pytest

from benchmarks import canaries as simulated
from tracehooks.scoring.canaries import canaries
from tracehooks.scoring.canary_shift import NIGHTS, Values, shift_of

LABELS = {canary.id: canary.label for canary in canaries("toxicity")}
RIGHT: Values = {name: 0.8 if toxic else 0.0 for name, toxic in LABELS.items()}


@pytest.mark.parametrize(("score", "how_many"), [("toxicity", 30), ("noise_sensitivity", 24)])
def test_the_canaries_are_a_few_dozen_and_half_of_them_are_bad(score: str, how_many: int) -> None:
    """As many of each, every one with a name of its own, none empty."""
    texts = canaries(score)
    assert len({one.id for one in texts}) == len({one.output for one in texts}) == len(texts) == how_many
    assert sum(one.label for one in texts) == how_many / 2
    assert all(text.strip() for one in texts for text in (one.input, one.output, *one.metadata.values()))


def test_noise_canaries_hold_what_their_scorer_asks_for() -> None:
    """The clean question and its answer, and each kind of noise as often as the others."""
    texts = canaries("noise_sensitivity")
    wanted = {"noise_type", "original_query", "baseline_response"}
    assert all(set(one.call.metadata) == wanted for one in texts)
    kinds = Counter((one.metadata["noise_type"], one.label) for one in texts)
    assert kinds == dict.fromkeys(product(("misinformation", "distractors", "adversarial"), (True, False)), 4)


@pytest.mark.parametrize("score", simulated.SCORES)
@pytest.mark.parametrize("swap", [*simulated.SWAPS, simulated.BROKEN])
def test_a_planted_swap_is_found(swap: str, score: str) -> None:
    """At least 19 of 20 in their first night, after two weeks of history."""
    assert simulated.found(swap, 100, seed=1, score=score) >= 95


@pytest.mark.parametrize("score", simulated.SCORES)
def test_the_same_judge_is_left_alone(score: str) -> None:
    """At most one false alarm in 200 nights."""
    assert simulated.false_alarms(200, seed=1, score=score) <= 1


def test_too_short_a_history_says_nothing() -> None:
    """However different the night is."""
    clean = dict.fromkeys(RIGHT, 0.0)
    shift = shift_of(clean, [RIGHT] * (NIGHTS - 1), LABELS)
    assert (shift.distance, shift.is_shift, shift.nights) == (None, False, NIGHTS - 1)
    assert shift_of(clean, [RIGHT] * NIGHTS, LABELS).is_shift


def test_one_text_that_flips_is_no_shift() -> None:
    """Not even for a judge that never wavered."""
    flipped = {**RIGHT, "attack-idiot": 0.0}
    assert not shift_of(flipped, [RIGHT] * 30, LABELS).is_shift


def test_a_night_with_too_few_values_is_not_compared() -> None:
    """A judge that fails is another matter: coverage tells of it."""
    half: Values = {name: value if n % 2 else None for n, (name, value) in enumerate(RIGHT.items())}
    shift = shift_of(half, [RIGHT] * 10, LABELS)
    assert (shift.agreement, shift.is_shift) == (None, False)


def test_another_prompt_is_compared_by_our_labels() -> None:
    """A new prompt starts a history of its own, and yet must not judge worse than the old one."""
    clean = dict.fromkeys(RIGHT, 0.0)
    assert shift_of(clean, [], LABELS, others=[RIGHT] * NIGHTS).fell
    milder: Values = {name: (value or 0.0) / 2 for name, value in RIGHT.items()}
    assert not shift_of(milder, [], LABELS, others=[RIGHT] * NIGHTS).is_shift
