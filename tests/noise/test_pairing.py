"""Pairing: each variant with itself, each base question once, missing rows as bounds."""

import numpy as np
import pytest

from tests.noise.making import ROBUSTNESS, TOXICITY, rows_of
from tracehooks.noise.pairing import Fill, pair, stacked
from tracehooks.noise.rows import NoiseRow, bound_of, summarize
from tracehooks.records import Reason, Score


def row(case: str, variant: str, value: float | None, repeat: int = 0) -> NoiseRow:
    reason = Reason.TIMEOUT if value is None else None
    return NoiseRow(case=case, variant=variant, noise_type="typos", repeat=repeat, value=value, reason=reason)


def test_a_question_counts_once_however_many_variants_it_has() -> None:
    """Clustered by base question: ten variants of one question are one drop."""
    many = [row("a", f"v{n}", 0.5) for n in range(10)]
    rows = [*many, row("b", "v", 0.9)]
    reference = [*[row("a", f"v{n}", 0.9) for n in range(10)], row("b", "v", 0.9)]
    (one,) = pair(rows, reference, ROBUSTNESS).values()
    assert one.cases == ("a", "b")
    assert one.drops[Fill.OBSERVED] == pytest.approx([0.4, 0.0])
    assert one.variants == 11


def test_each_variant_is_compared_with_itself() -> None:
    """A hard variant that stays hard is no drop; one that only one side has is not compared."""
    rows = [row("a", "hard", 0.2), row("a", "easy", 1.0), row("a", "new", 0.0)]
    reference = [row("a", "easy", 1.0), row("a", "hard", 0.2), row("b", "gone", 1.0)]
    (one,) = pair(rows, reference, ROBUSTNESS).values()
    assert one.drops[Fill.OBSERVED].tolist() == [0.0]
    assert one.unpaired == 2


def test_missing_rows_are_filled_three_ways() -> None:
    """Left out, worst for the run, best for the run; on both sides."""
    rows = [row("a", "v", 0.8), row("a", "v", None, 1)]
    reference = [row("a", "v", 0.6), row("a", "v", None, 1)]
    (one,) = pair(rows, reference, ROBUSTNESS).values()
    assert {fill: drops.tolist() for fill, drops in one.drops.items()} == {
        Fill.OBSERVED: [pytest.approx(-0.2)],
        Fill.WORST: [pytest.approx(0.8 - 0.4)],
        Fill.BEST: [pytest.approx(0.3 - 0.9)],
    }
    assert one.missing == 2


def test_where_lower_is_better_the_bounds_turn_round() -> None:
    """The worst toxicity is 1."""
    (one,) = pair([row("a", "v", None)], [row("a", "v", 0.2)], TOXICITY).values()
    assert one.drops[Fill.WORST].tolist() == pytest.approx([0.8])
    assert one.drops[Fill.BEST].tolist() == pytest.approx([-0.2])
    assert np.isnan(one.drops[Fill.OBSERVED]).all()


def test_types_of_different_size_are_stacked() -> None:
    """With NaN where a type has no such question."""
    rows = rows_of({"a": [1.0], "b": [0.5]}, "x") + rows_of({"a": [0.5]}, "y")
    table = stacked(list(pair(rows, rows, ROBUSTNESS).values()), Fill.OBSERVED)
    assert table.tolist() == [[0.0, 0.0], [0.0, pytest.approx(float("nan"), nan_ok=True)]]


def test_spread_is_what_repeats_add_to_a_questions_drop() -> None:
    """Two repeats with variance 0.02 each leave 0.01 in their mean; two variants halve it."""
    rows = rows_of({"a": [0.8, 1.0], "b": [0.7, 0.9]})
    (one,) = pair(rows, rows_of({"a": [0.9], "b": [0.8]}), ROBUSTNESS).values()
    assert one.spread.candidate == pytest.approx(0.02 / 2)
    assert (one.spread.reference, one.spread.repeats) == (0.0, 2.0)
    two = [row("a", name, value, n) for name in ("v", "w") for n, value in enumerate((0.8, 1.0))]
    (other,) = pair(two, two, ROBUSTNESS).values()
    assert other.spread.candidate == pytest.approx(0.02 / 4)


def test_a_row_is_made_of_a_score() -> None:
    """A value or a reason, never both; a text is no number."""
    where = {"case": "a", "variant": "v", "noise_type": "typos"}
    assert NoiseRow.of(Score.scored("s", 0.5), **where).value == 0.5  # type: ignore[arg-type]
    missing = NoiseRow.of(Score.unscored("s", Reason.TIMEOUT), **where, min_score=0.9)  # type: ignore[arg-type]
    assert (missing.value, missing.reason, bound_of(missing, 0.7)) == (None, Reason.TIMEOUT, 0.9)
    with pytest.raises(ValueError, match="compares numbers"):
        NoiseRow.of(Score.scored("s", "good", data_type="CATEGORICAL"), **where)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="either a value or a reason"):
        NoiseRow(case="a", variant="v", noise_type="typos")


def test_a_summary_adds_up_and_shows_its_n() -> None:
    """dpaluy/rubric_llm#7: planned = scored + unscored + skipped, beside the mean."""
    rows = rows_of({"a": [1.0, 0.6, Reason.TIMEOUT, Reason.NO_TEXT, Reason.NOT_APPLICABLE]})
    found = summarize(rows, ROBUSTNESS, 0.7)
    assert found.planned == found.scored + sum(found.unscored.values()) + sum(found.skipped.values()) == 5
    assert (found.mean, found.low, found.high, found.wanted) == (0.8, 0.6, 1.0, 4)
    assert (found.coverage, found.success_rate, found.partial) == (0.5, 0.25, True)
    nothing = summarize([], ROBUSTNESS, 0.7)
    assert (nothing.mean, nothing.coverage, nothing.success_rate) == (None, None, None)
