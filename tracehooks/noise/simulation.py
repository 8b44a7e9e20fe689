"""Simulated noise runs: how often a gate would fail, pass or stay open, for agents whose fate is known.

It shows that the gate keeps its word, and how large a dataset must be before it can::

    rates = simulate(Design(questions=12), drops={"misinformation": 0.1}, runs=2000, seed=7)
    rates.failed, rates.passed
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tracehooks.noise.inference import LEVEL, Array, infer

BATCH = 250  # runs at once: some 15 MB


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A noise run and its reference.

    An answer's score is clip(question mean + agent noise + judge noise, 0, 1), to two decimals. Question
    means are uniform within ``means``; both noises are normal with these standard deviations.
    """

    questions: int = 40
    noise_types: tuple[str, ...] = ("misinformation", "distractors", "adversarial")
    repeats: int = 3
    reference_repeats: int = 9
    means: tuple[float, float] = (0.75, 0.95)
    agent_noise: float = 0.10
    judge_noise: float = 0.10
    margin: float = 0.05


@dataclass(frozen=True, slots=True)
class Rates:
    """The shares of ``runs`` that failed, passed, and could not be decided."""

    runs: int
    failed: float
    passed: float
    inconclusive: float


def simulate(
    design: Design, drops: Mapping[str, float] | None = None, *, runs: int, seed: int, level: float = LEVEL
) -> Rates:
    """How often the gate gives each verdict when the noise types in ``drops`` have lost that much."""
    rng = np.random.default_rng(seed)
    counts = np.zeros(3, dtype=np.int64)
    for start in range(0, runs, BATCH):
        drawn = draw(design, drops, runs=min(BATCH, runs - start), rng=rng)
        lost = drawn.reference.mean(axis=-1) - drawn.candidate.mean(axis=-1)
        counts += np.bincount(infer(lost, design.margin, level).run_codes, minlength=3)
    failed, inconclusive, passed = (float(count) / runs for count in counts)
    return Rates(runs, failed, passed, inconclusive)


@dataclass(frozen=True, slots=True)
class Drawn:
    """Scores of simulated runs and their references: arrays (runs, noise types, questions, repeats)."""

    candidate: Array
    reference: Array


def draw(
    design: Design, drops: Mapping[str, float] | None = None, *, runs: int, rng: np.random.Generator
) -> Drawn:
    """Scores of ``runs`` runs, each with questions and a reference of its own."""
    means = rng.uniform(*design.means, size=(runs, 1, design.questions, 1))
    lost = np.array([(drops or {}).get(name, 0.0) for name in design.noise_types])[:, None, None]
    return Drawn(
        candidate=_scores(design, means - lost, design.repeats, rng),
        reference=_scores(design, means, design.reference_repeats, rng),
    )


def _scores(design: Design, means: Array, repeats: int, rng: np.random.Generator) -> Array:
    shape = (len(means), len(design.noise_types), design.questions, repeats)
    noise = rng.normal(0, design.agent_noise, shape) + rng.normal(0, design.judge_noise, shape)
    return np.clip(means + noise, 0, 1).round(2)
