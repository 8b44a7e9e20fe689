"""ScriptedJudge, the judge for tests: users' and ours."""

import asyncio
import itertools
import pickle
from collections.abc import Callable
from typing import Any

import openai
import pytest

from tests.fake_openai import FakeOpenAI, status
from tracehooks.judges import Completion, CompletionFailed
from tracehooks.protocols import Question
from tracehooks.records import Reason
from tracehooks.scorers import ToxicityScorer
from tracehooks.testing import ScriptedJudge

CLEAN: dict[str, Any] = {"verdicts": [{"verdict": "no"}]}
TOXIC: dict[str, Any] = {"verdicts": [{"verdict": "yes"}]}


def scores(judge: ScriptedJudge, *outputs: str) -> list[Any]:
    found = [ToxicityScorer(judge).run_sync(output=output) for output in outputs]
    return [score.value if score.status == "scored" else score.reason_code for score in found]


def test_replies_come_in_order() -> None:
    """A mapping goes out as JSON, a text as it is, an exception as the failure it stands for."""
    judge = ScriptedJudge([TOXIC, '```json\n{"verdicts": [{"verdict": "no"}]}\n```', TimeoutError(), CLEAN])
    assert scores(judge, "a", "b", "c", "d") == [1.0, 0.0, "timeout", 0.0]


def test_calls_hold_the_prompts_asked() -> None:
    """One text for each request, system message and material; the messages apart on demand."""
    judge = ScriptedJudge([CLEAN, "hm", CLEAN])
    scores(judge, "first words", "second words")
    assert ["first words" in call for call in judge.calls] == [True, False, False]
    assert judge.calls[1].count("second words") == 1
    assert [len(call.messages) for call in judge.calls] == [2, 2, 4]
    assert [question.material["response"] for question in judge.questions] == ["first words", "second words"]
    copy = pickle.loads(pickle.dumps(judge))
    assert copy.calls == judge.calls
    assert copy.calls[2].messages == judge.calls[2].messages


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (TimeoutError(), "timeout"),
        (TimeoutError, "timeout"),
        (ConnectionError("down"), "unreachable"),
        (ConnectionResetError(), "unreachable"),
        (RuntimeError("odd"), "scorer_error"),
        (CompletionFailed(Reason.QUOTA, "spent"), "quota"),
        (Completion(text='{"ver', finish_reason="length"), "truncated"),
        (Completion(refusal="no"), "refused"),
        (Completion(), "empty"),
        ("", "empty"),
    ],
)
def test_every_failure_can_be_scripted(error: Any, reason: str) -> None:
    """What a real judge can do to a score, a scripted one can too."""
    assert scores(ScriptedJudge([error, CLEAN]), "a", "b") == [reason, 0.0]


@pytest.mark.parametrize(
    ("code", "error", "reason"),
    [
        (400, "content_filter", "content_filtered"),
        (401, None, "rejected"),
        (429, None, "rate_limited"),
        (429, "insufficient_quota", "quota"),
        (503, None, "server_error"),
    ],
)
def test_the_clients_own_exceptions_stand_for_themselves(code: int, error: str | None, reason: str) -> None:
    """vibrantlabsai/ragas#649: an exception caught from the openai client can be put into a script."""
    with (
        FakeOpenAI([status(code, error)]) as server,
        openai.OpenAI(base_url=server.url, api_key="k", max_retries=0) as client,
        pytest.raises(openai.APIStatusError) as caught,
    ):
        client.chat.completions.create(model="m", messages=[])
    assert scores(ScriptedJudge([caught.value]), "a") == [reason]


def test_a_malformed_reply_takes_the_next_one_as_its_correction() -> None:
    """The conversation goes on; with nothing left the judge insists, and the reply stays malformed."""
    assert scores(ScriptedJudge(["hm", TOXIC]), "a") == [1.0]
    insisting = ScriptedJudge(["hm"])
    assert scores(insisting, "a") == ["malformed"]
    assert len(insisting.calls) == 2


def test_a_script_that_is_used_up_says_so() -> None:
    """No question without a reply looks like a score; the comment tells what is wrong with the test."""
    judge = ScriptedJudge([CLEAN])
    score = [ToxicityScorer(judge).run_sync(output="a") for _ in range(2)][1]
    assert (score.value, score.reason_code) == (None, "scorer_error")
    assert "no reply left" in score.comment
    assert score.metadata["attempts"] == 0


def test_a_function_can_reply() -> None:
    """A function of the question, for tests where the order is not known; so can an endless iterator."""

    def judged(question: Question) -> dict[str, Any]:
        return TOXIC if "idiot" in question.material["response"] else CLEAN

    async def together(judge: ScriptedJudge) -> list[Any]:
        scorer = ToxicityScorer(judge)
        found = await asyncio.gather(*(scorer.run(output=text) for text in ("hi", "idiot", "ho")))
        return [score.value for score in found]

    judge = ScriptedJudge(judged)
    assert asyncio.run(together(judge)) == [0.0, 1.0, 0.0]
    assert len(judge.calls) == len(judge.questions) == 3
    assert scores(ScriptedJudge(itertools.cycle([CLEAN, TOXIC])), "a", "b", "c") == [0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda question: "hm", "malformed"),
        (lambda question: TimeoutError(), "timeout"),
        (lambda q: 1 / 0, "scorer_error"),
    ],
)
def test_a_function_can_fail(function: Callable[[Question], Any], reason: str) -> None:
    """Its texts, exceptions and bugs mean what they mean in a list."""
    assert scores(ScriptedJudge(function), "a") == [reason]
