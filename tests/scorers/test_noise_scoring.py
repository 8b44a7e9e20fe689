"""The arithmetic of noise sensitivity, against the published scorers' own results."""

import json
from pathlib import Path
from typing import Any

import pytest

from tracehooks.errors import ConfigurationError
from tracehooks.scorers import NoiseScoring, noise_sensitivity_score
from tracehooks.scorers.noise_scoring import DEFAULT_WEIGHTS, noise_band, noise_figures, noise_grade

VECTORS = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "data/vectors/noise_sensitivity.jsonl")
    .read_text()
    .splitlines()
]


@pytest.mark.parametrize("line", VECTORS, ids=[line["id"] for line in VECTORS])
def test_every_published_result_is_reproduced_exactly(line: dict[str, Any]) -> None:
    """Equal to the last bit, with every option that the published scorers have."""
    scoring = NoiseScoring(**line["scoring"])
    score = noise_sensitivity_score(line["impact_levels"], line["judge_score"], line["major_issues"], scoring)
    assert score == line["score"]


def test_all_vectors_are_there() -> None:
    """A truncated file of vectors would prove little."""
    assert len(VECTORS) == 562


def test_the_defaults_are_the_published_ones() -> None:
    """Each option has its default; weights given are merged over the others."""
    scoring = NoiseScoring(impact_weights={"severe": 0})
    assert scoring.impact_weights == {**DEFAULT_WEIGHTS, "severe": 0.0}
    assert scoring.major_issue_per_item == 0.1
    assert scoring.max_major_issue_penalty == 0.3
    assert scoring.discrepancy_threshold == 0.2
    assert NoiseScoring() == NoiseScoring(impact_weights={})
    assert NoiseScoring(discrepancy_threshold=0).discrepancy_threshold == 0.0


@pytest.mark.parametrize(
    ("scoring", "weights", "rate", "cap"),
    [
        (NoiseScoring.lenient(), {"minimal": 0.95, "moderate": 0.75}, 0.05, 0.15),
        (NoiseScoring.strict(), {"minimal": 0.7, "moderate": 0.4, "severe": 0.0}, 0.2, 0.6),
        (NoiseScoring.security(), {"minimal": 0.5, "moderate": 0.2, "severe": 0.0}, 0.3, 1.0),
    ],
)
def test_presets(scoring: NoiseScoring, weights: dict[str, float], rate: float, cap: float) -> None:
    """Lenient, strict and security, each what it says."""
    assert scoring.impact_weights == {**DEFAULT_WEIGHTS, **weights}
    assert (scoring.major_issue_per_item, scoring.max_major_issue_penalty) == (rate, cap)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(
            ("impact_weights", value)
            for value in (
                {"sever": 0.1},
                {"Severe": 0.1},
                {"fatal": 1.1},
                {5: 0.5},
                {"none": 1.1},
                {"none": -0.1},
                [0.1],
                None,
                "none",
            )
        ),
        *(("impact_weights", {"severe": value}) for value in (float("nan"), True, "0.1", None)),
        *(
            (option, value)
            for option in ("major_issue_per_item", "max_major_issue_penalty", "discrepancy_threshold")
            for value in (-0.1, float("nan"), float("inf"), True, "0.1", None)
        ),
    ],
)
def test_a_bad_option_is_named(option: str, value: Any) -> None:
    """An option that cannot work is refused when it is given."""
    with pytest.raises(ConfigurationError, match=option):
        NoiseScoring(**{option: value})


@pytest.mark.parametrize(
    ("levels", "judge_score", "issues"),
    [
        ([], 0.9, 0),
        (["bad"], 0.9, 0),
        (["None"], 0.9, 0),
        ([None], 0.9, 0),
        (["none"], 1.1, 0),
        (["none"], -0.1, 0),
        (["none"], float("nan"), 0),
        (["none"], True, 0),
        (["none"], None, 0),
        (["none"], 0.9, -1),
        (["none"], 0.9, 1.5),
        (["none"], 0.9, True),
    ],
)
def test_what_cannot_be_scored_is_an_error(levels: Any, judge_score: Any, issues: Any) -> None:
    """confident-ai/deepeval#489: no finding is no score, and a number out of its range is none."""
    with pytest.raises(ValueError):
        noise_sensitivity_score(levels, judge_score, issues)


def test_the_steps_are_told() -> None:
    """What the levels came to, whether the judge's own score was overruled, and what the issues cost."""
    figures = noise_figures(["none", "severe"], judge_score=0.9, major_issues=9)
    assert (figures.calculated, figures.discrepant, figures.penalty) == (0.55, True, 0.3)
    assert figures.score == 0.25


def test_bands_and_grades_begin_where_they_are_said_to() -> None:
    """langfuse/langfuse#7626: a value exactly at a bound belongs where the bound says."""
    scores = (1.0, 0.99, 0.8, 0.79, 0.6, 0.59, 0.4, 0.39, 0.0)
    words = ["perfect", "excellent", "excellent", "good", "good", *["concerning"] * 2, *["critical"] * 2]
    assert [noise_band(score) for score in scores] == words
    assert [noise_grade(score) for score in (0.9, 0.89, 0.7, 0.69, 0.5, 0.3, 0.29)] == list("ABBCCDF")
