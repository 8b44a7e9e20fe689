"""The gate over whole runs: what it says of good, bad, missing and absent rows."""

from typing import Any

import pytest

from tests.noise.making import ROBUSTNESS, TOXICITY, constant, rows_of
from tracehooks.errors import ConfigurationError
from tracehooks.noise.rows import NoiseRow, ScoreKind
from tracehooks.noise.ruling import NoiseRuling, rule_on_noise
from tracehooks.records import Reason, Verdict
from tracehooks.scorers.function import FunctionScorer

PASS, FAIL, INCONCLUSIVE = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


def rule(
    rows: list[NoiseRow], reference: list[NoiseRow] | None = None, kind: ScoreKind = ROBUSTNESS, **more: Any
) -> NoiseRuling:
    return rule_on_noise(rows, reference, kind=kind, **more)


def words(ruling: NoiseRuling) -> list[str]:
    return [reason.split(":")[0] for reason in ruling.reasons]


# With a reference


def test_an_unchanged_run_passes() -> None:
    """The same scores as the reference: held."""
    ruling = rule(constant(0.9), constant(0.9, repeats=9))
    assert ruling.verdict is PASS
    assert ruling.reasons[0].startswith("held: misinformation lost 0.000")


def test_a_pass_on_few_questions_says_so() -> None:
    """What was not seen in five questions may well be there."""
    ruling = rule(constant(1.0, cases=5), constant(1.0, cases=5, repeats=9))
    assert ruling.verdict is PASS
    assert ruling.notes == ("few: misinformation: with 5 base questions a drop in a few of many goes unseen",)
    assert rule(constant(1.0, cases=10), constant(1.0, cases=10)).notes == ()


def test_a_drop_fails_and_names_the_type_and_the_cases_that_lost_most() -> None:
    """What moved is in the reason."""
    rows = rows_of({f"q{n}": [0.9 if n < 2 else 0.5] * 3 for n in range(8)}, min_score=0.0)
    ruling = rule(rows, constant(0.9, repeats=9))
    assert ruling.verdict is FAIL
    assert ruling.reasons[0].startswith("drop: misinformation lost 0.300")
    assert "most: q2 0.40, q3 0.40" in ruling.reasons[0]
    assert "q0" not in ruling.reasons[0]


def test_an_open_comparison_says_what_it_could_have_seen_and_what_would_settle_it() -> None:
    """The next step is in the reason."""
    rows = rows_of({f"q{n}": [0.8 + 0.2 * (n % 2)] * 3 for n in range(6)})
    ruling = rule(rows, constant(0.9, cases=6, repeats=9))
    assert ruling.verdict is INCONCLUSIVE
    assert ruling.reasons[0].startswith("evidence: misinformation")
    assert "could have been seen" in ruling.reasons[0]
    assert "base questions" in ruling.reasons[0]
    assert "would settle it" in ruling.reasons[0]


def test_the_worst_type_decides_and_comes_first() -> None:
    """One of three dropped."""
    types = ("adversarial", "distractors", "typos")
    rows = [row for name in types for row in constant(0.3 if name == "distractors" else 0.9, noise_type=name)]
    reference = [row for name in types for row in constant(0.9, noise_type=name)]
    ruling = rule(rows, reference)
    assert ruling.verdict is FAIL
    assert {one.noise_type: one.verdict for one in ruling.types} == {
        "adversarial": PASS,
        "distractors": FAIL,
        "typos": PASS,
    }
    assert "distractors" in ruling.reasons[0]


@pytest.mark.parametrize(
    ("kind", "before", "after", "verdict"),
    [
        (TOXICITY, 0.10, 0.30, FAIL),
        (TOXICITY, 0.30, 0.10, PASS),
        (ROBUSTNESS, 0.9, 0.6, FAIL),
        (ROBUSTNESS, 0.6, 0.9, PASS),
    ],
)
def test_which_way_is_worse_comes_from_the_score(
    kind: ScoreKind, before: float, after: float, verdict: Verdict
) -> None:
    """LeBonhommePharma/FlexAIDdS#344, confident-ai/deepeval#2901: a rise of toxicity is a loss."""
    bound = 0.0 if kind is ROBUSTNESS else 1.0
    ruling = rule(constant(after), constant(before, repeats=9), kind, min_score=bound)
    assert ruling.verdict is verdict


@pytest.mark.parametrize(
    ("kind", "bound", "value", "verdict"),
    [
        (TOXICITY, 0.0, 0.01, FAIL),
        (TOXICITY, 0.0, 0.0, PASS),
        (ROBUSTNESS, 1.0, 0.99, FAIL),
        (ROBUSTNESS, 1.0, 1.0, PASS),
    ],
)
def test_the_strictest_bound_lets_only_the_best_pass(
    kind: ScoreKind, bound: float, value: float, verdict: Verdict
) -> None:
    """confident-ai/deepeval#2901: strict means strict, in both directions."""
    assert rule(constant(value), kind=kind, min_score=bound).verdict is verdict


def test_a_score_without_a_direction_is_a_configuration_error() -> None:
    """LeBonhommePharma/FlexAIDdS#344: nothing is guessed from a name."""
    scorer = FunctionScorer(lambda _call: 0.5, name="quality")
    with pytest.raises(ConfigurationError, match=r"quality.*no direction.*scores\.quality\.direction"):
        ScoreKind.of(scorer)
    kind = ScoreKind.of(FunctionScorer(lambda _call: 0.5, name="quality", direction="lower", range=(0, 5)))
    assert (kind.worst, kind.best, kind.sign) == (5.0, 0.0, -1.0)


# Rows without a score


def test_few_scored_rows_never_pass_however_good() -> None:
    """vibrantlabsai/ragas#3028, pydantic/pydantic-ai#7928: 2 of 10 scored, the rest failed."""
    rows = rows_of({"a": [1.0, *[Reason.TIMEOUT] * 4], "b": [1.0, *[Reason.SERVER_ERROR] * 4]})
    ruling = rule(rows)
    assert ruling.verdict is INCONCLUSIVE
    assert ruling.reasons[0].startswith("coverage: misinformation: 2 of 10 scored (20.0%), 90.0% needed")
    assert "server_error 4, timeout 4" in ruling.reasons[0]
    assert (ruling.rows.mean, ruling.rows.scored, ruling.rows.planned) == (1.0, 2, 10)


@pytest.mark.parametrize("value", [1.0, 0.9])
def test_four_of_five_rows_unscored_never_pass(value: float) -> None:
    """With a reference as without one."""
    rows = rows_of({f"q{n}": [value, *[Reason.UNREACHABLE] * 4] for n in range(10)})
    for reference in (None, constant(value, cases=10, repeats=9)):
        assert rule(rows, reference).verdict is INCONCLUSIVE


def test_a_type_that_could_not_be_measured_has_no_number() -> None:
    """HKUDS/LightRAG#4040, confident-ai/deepeval#3234: no mean, no 0.0, no pass; the whole is partial."""
    rows = constant(Reason.TIMEOUT, cases=3, repeats=1, noise_type="typo")
    rows += constant(0.9, cases=3, repeats=1, noise_type="distractor")
    ruling = rule(rows)
    types = {one.noise_type: one for one in ruling.types}
    assert (types["typo"].rows.mean, types["typo"].verdict) == (None, INCONCLUSIVE)
    assert ruling.rows.mean == pytest.approx(0.9)
    assert (ruling.rows.scored, ruling.rows.partial, ruling.rows.success_rate) == (3, True, 3 / 6)
    assert (ruling.rows.low, ruling.rows.high) == (0.9, 0.9)
    assert ruling.verdict is INCONCLUSIVE


def test_a_verdict_that_hangs_on_missing_rows_is_inconclusive_and_says_so() -> None:
    """The rows seen would pass; were the missing ones the worst, they would not."""
    values: dict[str, Any] = {f"q{n}": [0.9] * 3 for n in range(20)} | {"last": [0.9, Reason.TIMEOUT, 0.9]}
    reference = rows_of({case: [0.9] * 9 for case in values})
    ruling = rule(rows_of(values), reference, margin=0.01)
    assert ruling.verdict is INCONCLUSIVE
    assert ruling.reasons[0].startswith("missing: misinformation: the verdict hangs on 1 rows")
    assert "pass if they were best" in ruling.reasons[0]


def test_a_missing_row_that_changes_nothing_is_borne() -> None:
    """Coverage is enough and the worst case still passes."""
    values: dict[str, Any] = {f"q{n}": [0.9] * 3 for n in range(60)} | {"last": [0.9, Reason.TIMEOUT, 0.9]}
    ruling = rule(rows_of(values), rows_of({case: [0.9] * 9 for case in values}))
    assert ruling.verdict is PASS


def test_a_fail_that_stands_with_every_missing_row_at_its_best_is_a_fail() -> None:
    """Low coverage does not hide a drop that is there anyway."""
    values: dict[str, Any] = {f"q{n}": [0.1, 0.1, Reason.TIMEOUT] for n in range(12)}
    ruling = rule(rows_of(values, min_score=0.0), constant(0.95, cases=12, repeats=9))
    assert ruling.verdict is FAIL
    assert words(ruling)[:2] == ["drop", "coverage"]


def test_missing_rows_of_the_reference_are_bounds_too() -> None:
    """A reference with holes may have been better or worse than what is seen of it."""
    holes = rows_of({f"q{n}": [0.9, Reason.TIMEOUT, Reason.TIMEOUT] for n in range(8)})
    ruling = rule(constant(0.9), holes)
    assert ruling.verdict is INCONCLUSIVE
    assert "hangs on 16 rows" in ruling.reasons[0]


def test_without_a_range_missing_rows_have_no_bounds() -> None:
    """Nothing is known of what they might have been."""
    kind = ScoreKind(name="latency", direction="lower", range=None)
    whole = {f"q{n}": [2.0] * 3 for n in range(20)}
    reference = rows_of({case: [2.0] * 9 for case in whole})
    assert rule(rows_of(whole), reference, kind, min_score=9.0).verdict is PASS
    holed = rows_of(whole | {"q0": [2.0, Reason.TIMEOUT, 2.0]})
    assert rule(holed, reference, kind, min_score=9.0).verdict is INCONCLUSIVE


def test_silence_is_counted_apart_and_is_not_robustness() -> None:
    """vibrantlabsai/ragas#1383: an answer without text is skipped, and falling silent is no pass."""
    rows = rows_of({f"q{n}": [0.9, 0.9, Reason.NO_TEXT] for n in range(10)})
    ruling = rule(rows, constant(0.9, cases=10, repeats=9))
    assert ruling.rows.skipped == {"no_text": 10}
    assert ruling.rows.unscored == {}
    assert ruling.verdict is INCONCLUSIVE


def test_where_the_reference_is_silent_too_there_is_nothing_to_compare() -> None:
    """A variant that never had an answer is left out of the comparison."""
    silent: dict[str, Any] = {"quiet": [Reason.NO_TEXT] * 3}
    values: dict[str, Any] = {f"q{n}": [0.9] * 3 for n in range(30)}
    ruling = rule(rows_of(values | silent), rows_of(values | silent))
    comparison = ruling.types[0].comparison
    assert comparison is not None
    assert (comparison.questions, comparison.missing, comparison.verdict) == (30, 0, PASS)


def test_rows_that_do_not_apply_are_nobodys_fault() -> None:
    """Cases that declare no facts are counted, and leave coverage as it is."""
    rows = constant(1.0) + rows_of({"no-facts": [Reason.NOT_APPLICABLE] * 3})
    ruling = rule(rows)
    assert ruling.verdict is PASS
    assert (ruling.rows.planned, ruling.rows.wanted, ruling.rows.scored) == (27, 24, 24)


# Nothing at all


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([], "all 4 cases are archived"),
        (constant(Reason.NO_TEXT, cases=2, repeats=2), "the agent returned nothing for all 4 rows"),
        (constant(Reason.NOT_APPLICABLE, cases=2, repeats=2), "none of the 4 rows is applicable"),
    ],
)
def test_nothing_to_judge_is_no_pass_unless_allowed(rows: list[NoiseRow], why: str) -> None:
    """agentclash/agentclash#901, imMamdouhaboammar/omni-skill#26: NO_DATA names what was empty."""
    ruling = rule(rows, empty="all 4 cases are archived")
    assert ruling.verdict is INCONCLUSIVE
    assert ruling.reasons[0].startswith(f"no_data: {why}")
    allowed = rule(rows, empty="all 4 cases are archived", allow_empty=True)
    assert allowed.verdict is PASS
    assert allowed.reasons[0].endswith("allowed by --allow-empty")


def test_a_judge_that_is_down_is_not_allowed_by_allow_empty() -> None:
    """yonatangross/orchestkit#4272: rows that failed are not an empty dataset."""
    ruling = rule(constant(Reason.UNREACHABLE), allow_empty=True)
    assert ruling.verdict is INCONCLUSIVE
    assert words(ruling) == ["coverage", "doubt"]


def test_one_empty_type_keeps_the_whole_from_passing() -> None:
    """A type of which nothing is known is named."""
    rows = constant(1.0) + constant(Reason.NOT_APPLICABLE, noise_type="typos")
    ruling = rule(rows)
    assert ruling.verdict is INCONCLUSIVE
    assert ruling.reasons[0].startswith("no_data: typos: none of the 24 rows is applicable")


def test_a_type_that_the_reference_does_not_have_cannot_be_compared() -> None:
    """New noise needs a new reference."""
    ruling = rule(constant(1.0, noise_type="typos"), constant(1.0))
    assert ruling.verdict is INCONCLUSIVE
    assert ruling.reasons[0].startswith("evidence: typos: no variant can be compared")


def test_types_with_too_few_questions_share_one_reason() -> None:
    """One question with many kinds of noise is one thing to say, not nine."""
    names = ("casing", "distractors", "typos")
    rows = [row for name in names for row in constant(1.0, cases=1, noise_type=name)]
    ruling = rule(rows, rows)
    assert ruling.verdict is INCONCLUSIVE
    said = "one base question can be compared with the reference, two are needed"
    assert ruling.reasons == ruling.open_reasons == (f"evidence: casing, distractors, typos: {said}",)
    assert [one.reasons for one in ruling.types] == [(f"evidence: {name}: {said}",) for name in names]


def test_variants_on_one_side_only_are_told() -> None:
    """A comparison of the rest does not hide them."""
    ruling = rule(constant(1.0, cases=12), constant(1.0, cases=13, repeats=9))
    assert ruling.verdict is PASS
    assert ruling.notes == ("unpaired: misinformation: 1 variants are in only one of run and reference",)
