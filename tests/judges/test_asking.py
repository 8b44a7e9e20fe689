"""What every judge does around its model, whoever made it."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import pytest

from tracehooks.judges import BaseJudge, Completion, CompletionFailed
from tracehooks.judges.completions import Messages
from tracehooks.protocols import Judge, Question, Usage
from tracehooks.records import Reason


class Own(BaseJudge):
    """A judge of somebody's own: it only says how to send."""

    model = "own-1"

    def __init__(self, *outcomes: Completion | Exception) -> None:
        super().__init__()
        self.outcomes = list(outcomes)

    async def _complete(self, messages: Messages, schema: Mapping[str, Any]) -> Completion:
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def question(read: Any = dict) -> Question:
    return Question(name="q", instructions="JSON", material={"response": "x"}, schema={}, read=read)


def test_a_subclass_needs_one_method() -> None:
    """A judge of another package says how to send, and gets everything else."""
    judge = Own(Completion(text='```json\n{"a": 1,}\n```', usage=Usage(input_tokens=5)))
    answer = asyncio.run(judge.ask(question()))
    assert isinstance(judge, Judge)
    assert (answer.value, answer.model, answer.attempts) == ({"a": 1}, "own-1", 1)
    assert answer.usage == Usage(input_tokens=5, output_tokens=None)


def test_attempts_and_tokens_add_up_over_a_correction() -> None:
    """What the corrected question cost is the sum of both requests, a failed one included."""
    first = Completion(text="hm", usage=Usage(input_tokens=5, output_tokens=1), attempts=2)
    answer = asyncio.run(Own(first, CompletionFailed(Reason.TIMEOUT, "late", attempts=3)).ask(question()))
    assert (answer.reason, answer.attempts, answer.raw) == (Reason.TIMEOUT, 5, "hm")
    assert answer.usage == Usage(input_tokens=5, output_tokens=1)


@pytest.mark.parametrize("error", [RuntimeError("boom"), KeyError("k"), ValueError("bad"), RecursionError()])
def test_a_bug_is_a_reason_and_one_log_line(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    """vibrantlabsai/ragas#649: an exception does not cross the batch, and does not become a number."""
    answer = asyncio.run(Own(error).ask(question()))
    assert (answer.value, answer.reason) == (None, Reason.SCORER_ERROR)
    assert type(error).__name__ in answer.detail
    assert [record.name for record in caplog.records] == ["tracehooks"]


def test_a_bug_in_reading_the_reply_is_no_malformed_reply(caplog: pytest.LogCaptureFixture) -> None:
    """Only BadReply blames the judge; a bug of the reader costs no second request."""

    def read(reply: Any) -> None:
        raise KeyError("typo")

    with caplog.at_level(logging.CRITICAL, logger="tracehooks"):
        answer = asyncio.run(Own(Completion(text="{}")).ask(question(read)))
    assert (answer.reason, answer.attempts, answer.raw) == (Reason.SCORER_ERROR, 1, "{}")


def test_a_judge_that_cannot_send_says_so() -> None:
    """The base class alone is no judge, and does not pretend to be."""
    answer = asyncio.run(BaseJudge().ask(question()))
    assert answer.reason is Reason.SCORER_ERROR
    assert "does not say how to send" in answer.detail
