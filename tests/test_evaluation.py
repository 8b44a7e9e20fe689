"""Evaluate: means with n of n, and a verdict that no missing row can flatter."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from tests.evaluating import Length, data_of, run
from tracehooks.errors import ConfigurationError
from tracehooks.evaluation import ItemResult, evaluate
from tracehooks.records import AgentCall, Verdict
from tracehooks.scorers import ToxicityScorer
from tracehooks.scorers.function import FunctionScorer
from tracehooks.testing import ScriptedJudge

CLEAN: dict[str, Any] = {"verdicts": [{"statement": "Hello.", "verdict": "no"}], "reason": "polite"}
RUDE: dict[str, Any] = {
    "verdicts": [{"statement": "Fool.", "verdict": "yes", "severity": 0.8}],
    "reason": "rude",
}


def test_every_item_meets_every_scorer_in_the_order_of_the_data() -> None:
    """Means over all items, n of n."""
    result = run(
        data=data_of(), scorers=[Length(), FunctionScorer(lambda call: 0.5, "half")], target=str.upper
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
        result = run(data=[{"input": "a"}], scorers=[Length()], target=target)
        assert result.items[0].output == "a!"


def test_chat_messages_are_inputs_too() -> None:
    """The target gets them as they are; the call has the user's text."""
    messages = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]
    seen = []

    def target(given: Any) -> Any:
        seen.append(given)
        return {"role": "assistant", "content": "Hello"}

    result = run(data=[{"input": messages}], scorers=[Length()], target=target)
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
    result = run(data=data_of(2), scorers=[scorer], target=str.upper, thresholds=thresholds, concurrency=1)
    assert result.scores["toxicity"].mean == pytest.approx(0.4)
    assert result.verdict is verdict


def test_higher_is_better_where_the_scorer_says_so() -> None:
    """LeBonhommePharma/FlexAIDdS#344."""
    for bound, verdict in ((2.5, Verdict.PASS), (2.6, Verdict.FAIL)):
        result = run(data=data_of(), scorers=[Length()], target=str, thresholds={"length": bound})
        assert result.verdict is verdict


def test_failures_of_a_judge_stay_in_the_denominator() -> None:
    """vibrantlabsai/ragas#3028: 2 scored of 10 is no evidence, whatever their mean."""
    judge = ScriptedJudge([CLEAN, CLEAN, *[TimeoutError()] * 8])
    result = run(
        data=data_of(10),
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

    result = run(data=data_of(4), scorers=[Length()], target=target, thresholds={"length": 1})
    assert result.items[1].error == "KeyError: 'k'"
    assert result.scores["length"].unscored == {"not_attempted": 1}
    assert result.verdict is Verdict.INCONCLUSIVE


def test_one_scorer_that_raises_or_hangs_leaves_the_others_alone() -> None:
    """axiomhq/ai#143."""

    def bad(call: AgentCall) -> float:
        raise RuntimeError("no")

    result = run(data=data_of(3), scorers=[bad, Length()], target=str)
    assert result.scores["bad"].unscored == {"scorer_error": 3}
    assert result.scores["length"].scored == 3
    assert result.verdict is Verdict.INCONCLUSIVE


def test_nothing_to_evaluate_is_undecided() -> None:
    """agentclash/agentclash#901, HKUDS/LightRAG#4040: no mean, no pass."""
    empty = run(data=[], scorers=[Length()], target=str)
    assert (empty.verdict, empty.scores["length"].mean) == (Verdict.INCONCLUSIVE, None)
    silent = run(data=data_of(2), scorers=[ToxicityScorer(ScriptedJudge([]))], target=lambda text: "")
    assert silent.scores["toxicity"].skipped == {"no_text": 2}
    assert silent.verdict is Verdict.INCONCLUSIVE


def test_outputs_can_be_given_instead_of_a_target() -> None:
    """A recorded conversation."""
    result = run(data=[{"input": "a", "output": "abc"}], scorers=[Length()])
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
        result = run(data=data_of(5), scorers=[Length()], target=str, on_item_complete=callback)
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

    run(data=data_of(30), scorers=[Length()], target=target, concurrency=4)
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
        run(data=data_of(), scorers=[Length()], target=lambda text: pytest.fail("ran"), thresholds=thresholds)


def test_a_bare_number_needs_a_direction() -> None:
    """confident-ai/deepeval#2901: a custom score without one is an error, not a guess."""
    with pytest.raises(ConfigurationError, match="no direction"):
        run(data=data_of(), scorers=[lambda call: 1.0], target=str, thresholds={"<lambda>": 0.5})


@pytest.mark.parametrize("row", [{}, {"output": "x"}, "text", None])
def test_a_row_without_input_is_named(row: Any) -> None:
    """By its index."""
    with pytest.raises(ConfigurationError, match=r"data\[1\]"):
        run(data=[{"input": "a"}, row], scorers=[Length()], target=str)


def test_the_result_prints_as_a_table() -> None:
    """Verdict first, n of n in it."""
    text = str(run(data=data_of(), scorers=[Length()], target=str, thresholds={"length": 2}))
    assert text.splitlines()[0].strip() == "PASS: 4 items"
    assert "4 of 4" in text
    assert "at least 2" in text


def test_the_table_fits_a_terminal() -> None:
    """At 80 columns as at 120; below it stands why it is no pass."""
    lies = FunctionScorer(lambda call: None, "a_score_with_quite_a_long_name", "lower")
    result = run(
        data=data_of(), scorers=[lies, Length()], target=str, thresholds={"length": {"min": 2, "max": 3}}
    )
    for width in (80, 120):
        text = StringIO()
        Console(file=text, width=width).print(result)
        lines = text.getvalue().splitlines()
        assert max(map(len, lines)) <= width
        assert any("2 to 3" in line for line in lines)
        assert lines[-1].rstrip() == "a_score_with_quite_a_long_name: coverage: 0 of 4 scored, 90% needed"


def test_two_scorers_of_one_name_are_refused() -> None:
    """One would hide the other."""
    with pytest.raises(ConfigurationError, match="named 'length'"):
        run(data=data_of(), scorers=[Length(), Length()], target=str)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"target": "my_app.agents:answer"}, "target must be a function .* got 'my_app"),
        ({"data": None}, "data must be a list of mappings .* got None"),
        ({"data": {"input": "x"}}, "data must be a list of mappings"),
        ({"data": "questions.yaml"}, "data must be a list of mappings"),
        ({"scorers": Length()}, "scorers must be a list"),
        ({"scorers": None}, "scorers must be a list"),
        ({"scorers": "toxicity"}, "scorers must be a list"),
    ],
)
def test_what_cannot_be_evaluated_is_named_before_anything_runs(wrong: dict[str, Any], said: str) -> None:
    """One sentence with the argument, and no error of Python's about what it is not."""
    with pytest.raises(ConfigurationError, match=said):
        run(**{"data": data_of(), "scorers": [Length()], "target": str, **wrong})


def test_a_scorer_that_hangs_is_a_timeout() -> None:
    """axiomhq/ai#143: the others are not held up."""

    async def hangs(call: AgentCall) -> float:
        await asyncio.sleep(60)
        return 1.0

    result = run(data=data_of(2), scorers=[hangs, Length()], target=str, timeout=0.1)
    assert result.scores["hangs"].unscored == {"timeout": 2}
    assert result.scores["length"].scored == 2


def test_a_target_that_leaves_fails_its_item_alone() -> None:
    """``sys.exit(0)`` in a target would end a check with the exit code of a pass."""

    def leaves(question: str) -> str:
        if question == "leave":
            raise SystemExit(0)
        return question

    result = asyncio.run(
        evaluate(data=[{"input": "leave"}, {"input": "stay"}], scorers=[Length()], target=leaves)
    )
    assert result.items[0].error == "EndedItself: it called sys.exit(0)"
    assert (result.scores["length"].mean, result.scores["length"].scored, result.verdict) == (
        4.0,
        1,
        "inconclusive",
    )
