"""What the judges of hooks are asked counts on the day's budget of the store, and ends with it."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import tracehooks
from tests.fake_openai import FakeOpenAI, chat
from tests.hooks.counting import scores_of
from tracehooks import traced
from tracehooks.records import Reason, Status
from tracehooks.scoring.spending import day_scope
from tracehooks.store import Store

Start = Callable[..., None]
CLEAN = {"verdicts": [{"statement": "all", "verdict": "no"}], "reason": "polite"}


def _begin(start: Start, server: FakeOpenAI, **budget: Any) -> None:
    judge = {"model": "m", "base_url": server.url, "api_key": "k"}
    start(hooks=[{"scorer": "toxicity"}], judge=judge, budget=budget)


def _answers(count: int) -> None:
    @traced(kind="agent")
    def agent(question: str) -> str:
        return f"the answer to {question}"

    for n in range(count):
        agent(f"question {n}")
    assert tracehooks.flush(60)


def test_hooks_end_with_the_days_budget(start: Start, stored: Store) -> None:
    """At most three requests a day are sent; what is cut is over_budget, stored and counted."""
    with FakeOpenAI(lambda body: chat(CLEAN)) as server:
        _begin(start, server, day={"calls": 3})
        _answers(5)
        assert 1 <= server.count <= 3  # one whose loop was blocked is reserved twice, and sent once
    scores = [one.score for one in scores_of(stored)]
    scored = sum(score.status is Status.SCORED for score in scores)
    assert 1 <= scored <= 3
    cut = [score.reason_code for score in scores if score.status is Status.UNSCORED]
    assert cut == [Reason.OVER_BUDGET] * (5 - scored)
    assert tracehooks.stats()["unscored"] == {"over_budget": 5 - scored}


def test_hooks_are_counted_without_a_budget(start: Start, stored: Store) -> None:
    """Status tells what was asked today, and a budget that is set later in the day knows of it."""
    with FakeOpenAI(lambda body: chat(CLEAN)) as server:
        _begin(start, server)
        _answers(2)
    assert stored.accounts.spent(day_scope(datetime.now(UTC))).calls >= 2


def test_a_budget_that_cannot_be_kept_asks_nobody(start: Start, stored: Store) -> None:
    """A dollar budget and a model without a price: no request, and the score says which key is missing."""
    with FakeOpenAI(lambda body: chat(CLEAN)) as server:
        _begin(start, server, day={"dollars": 1})
        _answers(1)
        assert server.count == 0
    (score,) = [one.score for one in scores_of(stored)]
    assert score.reason_code is Reason.SCORER_ERROR
    assert "judge.price" in (score.comment or "")
