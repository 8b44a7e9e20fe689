"""Evaluate: means with n of n, and a verdict that no missing row can flatter."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tracehooks.errors import ConfigurationError
from tracehooks.evaluation import EvaluationResult, ItemResult, evaluate
from tracehooks.records import AgentCall, Score, Verdict
from tracehooks.scorers import ToxicityScorer
from tracehooks.scorers.function import FunctionScorer
from tracehooks.testing import ScriptedJudge

CLEAN: dict[str, Any] = {"verdicts": [{"statement": "Hello.", "verdict": "no"}], "reason": "polite"}
RUDE: dict[str, Any] = {
    "verdicts": [{"statement": "Fool.", "verdict": "yes", "severity": 0.8}],
    "reason": "rude",
}


@dataclass(frozen=True)
class Length:
    """The length of the output in characters; higher is better."""

    name: str = "length"
    version: str = "1"
    direction: str = "higher"

    async def score(self, call: AgentCall) -> Score:
        return Score.scored(self.name, float(len(call.output or "")))


def _run(**options: Any) -> EvaluationResult:
    return asyncio.run(evaluate(**options))


def _data(count: int = 4) -> list[dict[str, Any]]:
    return [{"input": "x" * n} for n in range(1, count + 1)]


def test_every_item_meets_every_scorer_in_the_order_of_the_data() -> None:
    """Means over all items, n of n."""
    result = _run(
        data=_data(), scorers=[Length(), FunctionScorer(lambda call: 0.5, "half")], target=str.upper
    )
    assert [item.output for item in result.items] == ["X", "XX", "XXX", "XXXX"]
    assert result.scores["length"].mean == 2.5
    assert (result.scores["half"].scored, result.scores["half"].planned) == (4, 4)
    assert result.verdict is Verdict.PASS


def test_targets_of_every_shape_are_called() -> None:
    """Sync, async, streaming, and a function that returns a coroutine."""

    async def later(text: str) -> str:
        return text + "!"

    def stream(text: str) -> Iterator[str]:
        yield text
        yield "!"

    async def astream(text: str) -> AsyncIterator[str]:
        yield text
        yield "!"

    for target in (
        lambda text: text + "!",
        later,
        stream,
        astream,
        lambda text: later(text),
        lambda t: astream(t),
    ):
        result = _run(data=[{"input": "a"}], scorers=[Length()], target=target)
        assert result.items[0].output == "a!"


def test_chat_messages_are_inputs_too() -> None:
    """The target gets them as they are; the call has the user's text."""
    messages = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]
    seen = []

    def target(given: Any) -> Any:
        seen.append(given)
        return {"role": "assistant", "content": "Hello"}

    result = _run(data=[{"input": messages}], scorers=[Length()], target=target)
    assert seen == [messages]
    assert (result.items[0].call.input, result.items[0].call.output) == ("Hi", "Hello")


@pytest.mark.parametrize(
    ("thresholds", "verdict"),
    [
        ({"toxicity": 0.4}, Verdict.PASS),
        ({"toxicity": 0.39}, Verdict.FAIL),
        ({"toxicity": {"max": 0.4}}, Verdict.PASS),
        ({"toxicity": {"min": 0.5}}, Verdict.FAIL),
        ({"toxicity": {"min": 0.1, "max": 0.5}}, Verdict.PASS),
    ],
)
def test_a_threshold_bounds_the_mean_in_the_bad_direction(thresholds: Any, verdict: Verdict) -> None:
    """confident-ai/deepeval#2901: no direction is guessed from a name; a mean of 0.4 is at most 0.4."""
    scorer = ToxicityScorer(ScriptedJudge([CLEAN, RUDE]))
    result = _run(data=_data(2), scorers=[scorer], target=str.upper, thresholds=thresholds, concurrency=1)
    assert result.scores["toxicity"].mean == pytest.approx(0.4)
    assert result.verdict is verdict


def test_higher_is_better_where_the_scorer_says_so() -> None:
    """LeBonhommePharma/FlexAIDdS#344."""
    for bound, verdict in ((2.5, Verdict.PASS), (2.6, Verdict.FAIL)):
        result = _run(data=_data(), scorers=[Length()], target=str, thresholds={"length": bound})
        assert result.verdict is verdict


def test_failures_of_a_judge_stay_in_the_denominator() -> None:
    """vibrantlabsai/ragas#3028: 2 scored of 10 is no evidence, whatever their mean."""
    judge = ScriptedJudge([CLEAN, CLEAN, *[TimeoutError()] * 8])
    result = _run(
        data=_data(10),
        scorers=[ToxicityScorer(judge)],
        target=str.upper,
        thresholds={"toxicity": 0.1},
        concurrency=1,
    )
    summary = result.scores["toxicity"]
    assert (summary.mean, summary.scored, summary.planned) == (0.0, 2, 10)
    assert summary.unscored == {"timeout": 8}
    assert result.verdict is Verdict.INCONCLUSIVE
    assert "2 of 10" in result.reasons[0]


def test_a_target_that_raises_is_counted_and_not_scored() -> None:
    """Its scores are not_attempted, and the error is named."""

    def target(text: str) -> str:
        if text == "xx":
            raise KeyError("k")
        return text

    result = _run(data=_data(4), scorers=[Length()], target=target, thresholds={"length": 1})
    assert result.items[1].error == "KeyError: 'k'"
    assert result.scores["length"].unscored == {"not_attempted": 1}
    assert result.verdict is Verdict.INCONCLUSIVE


def test_one_scorer_that_raises_or_hangs_leaves_the_others_alone() -> None:
    """axiomhq/ai#143."""

    def bad(call: AgentCall) -> float:
        raise RuntimeError("no")

    result = _run(data=_data(3), scorers=[bad, Length()], target=str)
    assert result.scores["bad"].unscored == {"scorer_error": 3}
    assert result.scores["length"].scored == 3
    assert result.verdict is Verdict.INCONCLUSIVE


def test_nothing_to_evaluate_is_undecided() -> None:
    """agentclash/agentclash#901, HKUDS/LightRAG#4040: no mean, no pass."""
    empty = _run(data=[], scorers=[Length()], target=str)
    assert (empty.verdict, empty.scores["length"].mean) == (Verdict.INCONCLUSIVE, None)
    silent = _run(data=_data(2), scorers=[ToxicityScorer(ScriptedJudge([]))], target=lambda text: "")
    assert silent.scores["toxicity"].skipped == {"no_text": 2}
    assert silent.verdict is Verdict.INCONCLUSIVE


def test_outputs_can_be_given_instead_of_a_target() -> None:
    """A recorded conversation."""
    result = _run(data=[{"input": "a", "output": "abc"}], scorers=[Length()])
    assert result.scores["length"].mean == 3.0


def test_each_item_is_reported_as_it_is_done_and_a_callback_that_raises_hurts_nobody() -> None:
    """Sync or async."""
    seen: list[int] = []

    async def later(item: ItemResult) -> None:
        seen.append(item.index)

    def broken(item: ItemResult) -> None:
        seen.append(item.index)
        raise RuntimeError("no")

    for callback in (seen_by := later, broken):
        seen.clear()
        result = _run(data=_data(5), scorers=[Length()], target=str, on_item_complete=callback)
        assert sorted(seen) == [0, 1, 2, 3, 4]
        assert result.scores["length"].scored == 5
    assert seen_by is later


def test_no_more_than_so_many_items_are_at_work() -> None:
    """deepset-ai/haystack-core-integrations#3695."""
    working, peak = 0, 0

    async def target(text: str) -> str:
        nonlocal working, peak
        working += 1
        peak = max(peak, working)
        await asyncio.sleep(0.01)
        working -= 1
        return text

    _run(data=_data(30), scorers=[Length()], target=target, concurrency=4)
    assert peak == 4


@pytest.mark.parametrize(
    "thresholds",
    [
        {"other": 1},
        {"length": float("nan")},
        {"length": True},
        {"length": {"most": 1}},
        {"length": {"min": 2, "max": 1}},
    ],
)
def test_a_threshold_that_cannot_be_meant_is_refused_before_anything_runs(thresholds: Any) -> None:
    """It names the threshold."""
    with pytest.raises(ConfigurationError, match="thresholds"):
        _run(data=_data(), scorers=[Length()], target=lambda text: pytest.fail("ran"), thresholds=thresholds)


def test_a_bare_number_needs_a_direction() -> None:
    """confident-ai/deepeval#2901: a custom score without one is an error, not a guess."""
    with pytest.raises(ConfigurationError, match="no direction"):
        _run(data=_data(), scorers=[lambda call: 1.0], target=str, thresholds={"<lambda>": 0.5})


@pytest.mark.parametrize("row", [{}, {"output": "x"}, "text", None])
def test_a_row_without_input_is_named(row: Any) -> None:
    """By its index."""
    with pytest.raises(ConfigurationError, match=r"data\[1\]"):
        _run(data=[{"input": "a"}, row], scorers=[Length()], target=str)


def test_the_result_prints_as_a_table() -> None:
    """Verdict first, n of n in it."""
    text = str(_run(data=_data(), scorers=[Length()], target=str, thresholds={"length": 2}))
    assert text.splitlines()[0].strip() == "PASS: 4 items"
    assert "4 of 4" in text
    assert "at least 2" in text
