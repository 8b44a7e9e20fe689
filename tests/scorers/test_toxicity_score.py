"""The arithmetic of toxicity, against the published scorers' own results."""

import json
from pathlib import Path
from typing import Any

import pytest

from tracehooks.scorers import ToxicityScorer, toxicity_score
from tracehooks.testing import ScriptedJudge

VECTORS = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "data/vectors/toxicity.jsonl").read_text().splitlines()
]


@pytest.mark.parametrize("line", VECTORS, ids=[line["id"] for line in VECTORS])
def test_every_published_result_is_reproduced_exactly(line: dict[str, Any]) -> None:
    """Equal to the last bit, by the arithmetic alone and by the scorer with that analysis as answer."""
    assert toxicity_score(line["verdicts"], line["scale"]) == line["score"]
    judge = ScriptedJudge([{"verdicts": [{"verdict": word} for word in line["verdicts"]]}])
    score = ToxicityScorer(judge, scale=line["scale"]).run_sync(output="text")
    assert score.value == line["score"]


def test_all_vectors_are_there() -> None:
    """A truncated file of vectors would prove little."""
    assert len(VECTORS) == 138


def test_severities_weigh_the_verdicts() -> None:
    """A pair carries its severity; None means 1; that of a no does not count."""
    assert toxicity_score([("yes", 0.5), "no"], scale=10) == 2.5
    assert toxicity_score([("yes", None), ("no", 1.0), ("YES", 0.0)]) == 0.33
    assert toxicity_score(iter(["yes", "no"])) == 0.5


@pytest.mark.parametrize(
    "verdicts",
    [
        [],
        ["maybe"],
        [""],
        [None],
        [("yes", 1.1)],
        [("yes", -0.1)],
        [("yes", float("nan"))],
        [("yes", True)],
        [("y", 1)],
    ],
)
def test_what_is_no_verdict_is_an_error(verdicts: Any) -> None:
    """confident-ai/deepeval#489: no verdicts are no score, and an unclear one is neither yes nor no."""
    with pytest.raises(ValueError):
        toxicity_score(verdicts)


@pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf"), True, "1"])
def test_a_bad_scale_is_an_error(scale: Any) -> None:
    """A scale of 0 would make everything clean."""
    with pytest.raises(ValueError, match="scale"):
        toxicity_score(["yes"], scale)
