"""Rows for tests of the gate."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tracehooks.noise.inference import Array
from tracehooks.noise.rows import NoiseRow, ScoreKind
from tracehooks.records import Reason

ROBUSTNESS = ScoreKind(name="noise_sensitivity", direction="higher", range=(0.0, 1.0))
TOXICITY = ScoreKind(name="toxicity", direction="lower", range=(0.0, 1.0))

Value = float | Reason


def rows_of(
    values: Mapping[str, Sequence[Value]], noise_type: str = "misinformation", min_score: float | None = None
) -> list[NoiseRow]:
    """One variant a case: case -> the values of its repeats, a Reason where a row has no score."""
    return [
        NoiseRow(
            case=case,
            variant="v1",
            noise_type=noise_type,
            repeat=repeat,
            value=None if isinstance(value, Reason) else value,
            reason=value if isinstance(value, Reason) else None,
            min_score=min_score,
        )
        for case, repeats in values.items()
        for repeat, value in enumerate(repeats)
    ]


def constant(
    value: Value, *, cases: int = 8, repeats: int = 3, noise_type: str = "misinformation"
) -> list[NoiseRow]:
    """``cases`` cases whose rows all have this value."""
    return rows_of({f"q{case}": [value] * repeats for case in range(cases)}, noise_type)


def rows_from(scores: Array, noise_types: Iterable[str]) -> list[NoiseRow]:
    """Rows from an array (noise types, questions, repeats)."""
    return [
        NoiseRow(case=f"q{case:02}", variant="v1", noise_type=name, repeat=repeat, value=float(value))
        for name, table in zip(noise_types, scores, strict=True)
        for case, row in enumerate(np.asarray(table))
        for repeat, value in enumerate(row)
    ]
