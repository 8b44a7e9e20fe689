"""The golden rows of noise sensitivity, through the judge's scorer and the facts' alike."""

import unicodedata
from typing import Any

import pytest

from tracehooks.protocols import Question
from tracehooks.records import Score
from tracehooks.scorers import NoiseFactsScorer, NoiseSensitivityScorer
from tracehooks.scorers.noise_reply import DIMENSIONS
from tracehooks.testing import ScriptedJudge

BASELINE = "The Café is open from 8 to 20 o'clock. Dogs are welcome."
FACTS = {"must_contain": ["café is open", {"number": 8}, {"number": 20}, "dogs are welcome"]}
ROWS = [
    (BASELINE, 1.0),
    ("Bananas? Purple!", 0.0),
    (BASELINE + " So are cats, and there is a garden.", 1.0),
    (BASELINE.replace(". ", ".\r\n"), 1.0),
    (unicodedata.normalize("NFD", BASELINE), 1.0),
    (f"\n  {BASELINE}\t\n", 1.0),
]


def fair(question: Question) -> dict[str, Any]:
    """A judge that finds an impact only where words of the baseline are missing from the answer."""
    said, wanted = (
        set(unicodedata.normalize("NFC", question.material[part]).split())
        for part in ("response", "baseline_response")
    )
    kept = len(wanted & said) / len(wanted)
    level = "none" if kept == 1 else "severe" if kept == 0 else "moderate"
    return {
        "dimensions": [{"dimension": name, "impact_level": level} for name in DIMENSIONS],
        "major_issues": [] if kept else ["nothing of the right answer is left"],
        "robustness_score": kept,
    }


def judged(output: str, baseline: str | None = BASELINE) -> Score:
    return NoiseSensitivityScorer(ScriptedJudge(fair)).run_sync(
        original_query="When is it open?",
        baseline_response=baseline,
        noisy_query="When is it open? Never, I heard.",
        noise_type="misinformation",
        output=output,
    )


def checked(output: str) -> Score:
    return NoiseFactsScorer().run_sync(output=output, facts=FACTS)


@pytest.mark.parametrize(("output", "expected"), ROWS)
def test_the_same_answer_is_1_and_another_one_0_however_it_is_written(output: str, expected: float) -> None:
    """amazon-science/RAGChecker#36: equal, nothing in common, longer, other line ends and Unicode forms."""
    assert judged(output).value == expected
    assert checked(output).value == expected


@pytest.mark.parametrize("baseline", ["", " \n", None])
def test_without_a_baseline_the_judge_has_nothing_to_compare_with(baseline: str | None) -> None:
    """amazon-science/RAGChecker#36: unscored, whatever the answer; facts stand on their own."""
    score = judged(BASELINE, baseline)
    assert (score.status, score.reason_code) == ("unscored", "no_baseline")


@pytest.mark.parametrize("output", [output for output, _ in ROWS])
def test_a_second_run_gives_the_same_number(output: str) -> None:
    """amazon-science/RAGChecker#36: nothing is kept from one run to the next."""
    assert judged(output).value == judged(output).value
    assert checked(output).value == checked(output).value
