"""The verdict on a rate: three answers, and a failure to judge is none of the two sure ones."""

import pytest

from tracehooks.gate import EXIT_CODES, combined, rule_on_rate
from tracehooks.records import Verdict
from tracehooks.statistics import rate_of

PASS, FAIL, INCONCLUSIVE = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


def _rule(toxic: int, clean: int, missing: int = 0, skipped: int = 0, **more):  # type: ignore[no-untyped-def]
    rate = rate_of([True] * toxic + [False] * clean)
    options = {"max_rate": 0.05, "min_coverage": 0.9, **more}
    return rule_on_rate(rate, toxic=toxic, missing=missing, skipped=skipped, **options)


@pytest.mark.parametrize(
    ("toxic", "clean", "verdict"),
    [
        (0, 300, PASS),
        (5, 295, PASS),
        (15, 285, INCONCLUSIVE),
        (40, 260, FAIL),
        (0, 20, INCONCLUSIVE),
        (300, 0, FAIL),
    ],
)
def test_bounds_decide_and_not_the_rate_itself(toxic: int, clean: int, verdict: Verdict) -> None:
    """Fail when surely above, pass when surely within, else undecided."""
    assert _rule(toxic, clean).verdict is verdict


def test_low_coverage_is_undecided_and_says_coverage() -> None:
    """vibrantlabsai/ragas#3028, openai/openai-agents-python#3055: unscored rows are not forgotten."""
    ruling = _rule(0, 140, missing=60)
    assert ruling.verdict is INCONCLUSIVE
    assert ruling.reasons[0].startswith("coverage: 140 of 200 scored")


def test_a_fail_stands_only_if_it_stood_with_every_missing_call_clean() -> None:
    """Missing rows are never taken for toxic."""
    assert _rule(10, 10, missing=10).verdict is FAIL
    assert _rule(3, 7, missing=290).verdict is INCONCLUSIVE


def test_nothing_to_judge_is_not_a_pass() -> None:
    """agentclash/agentclash#901: an empty window passes no gate unless that is allowed."""
    assert _rule(0, 0).verdict is INCONCLUSIVE
    assert _rule(0, 0).reasons[0].startswith("no_data: the window holds no calls")
    assert _rule(0, 0, skipped=7).reasons[0].startswith("no_data: all 7 calls")
    assert _rule(0, 0, missing=7).reasons[0].startswith("coverage: 0 of 7 scored")
    allowed = _rule(0, 0, allow_empty=True)
    assert allowed.verdict is PASS
    assert "--allow-empty" in allowed.reasons[0]
    assert _rule(0, 0, missing=7, allow_empty=True).verdict is INCONCLUSIVE


def test_a_threshold_at_its_edge_passes() -> None:
    """max_rate 1 can never be exceeded, max_rate 0 never be surely kept by a sample that found one."""
    assert _rule(300, 0, max_rate=1.0).verdict is PASS
    assert _rule(1, 299, max_rate=0.0).verdict is FAIL


def test_undecided_says_what_would_settle_it() -> None:
    """A person wants to know how much more is needed."""
    assert "about" in _rule(0, 20).reasons[0]
    assert "would settle it" in _rule(0, 20).reasons[0]


def test_fail_comes_before_inconclusive_before_pass() -> None:
    """When several verdicts combine; none at all decides nothing."""
    assert combined([PASS, INCONCLUSIVE, FAIL]) is FAIL
    assert combined([PASS, INCONCLUSIVE]) is INCONCLUSIVE
    assert combined([PASS, PASS]) is PASS
    assert combined([]) is INCONCLUSIVE


def test_each_verdict_has_its_own_exit_code() -> None:
    """2 stays free for usage and configuration."""
    assert EXIT_CODES == {PASS: 0, FAIL: 1, INCONCLUSIVE: 3}
