"""The seam: a batch and a grant go in, outcomes come out, whatever the scorers do."""

import asyncio
import pickle
import threading
import time
from dataclasses import dataclass
from typing import Any

import pytest

from tracehooks.errors import ConfigurationError
from tracehooks.protocols import Scorer
from tracehooks.records import AgentCall, Reason, Score, Status
from tracehooks.scorers.function import FunctionScorer, as_scorer
from tracehooks.scoring import Batch, Grant, Outcome, Task, execute


def _call(n: int = 1) -> AgentCall:
    return AgentCall(trace_id=f"{n:032x}", span_id=f"{n:016x}", output=f"text {n}")


def length(call: AgentCall) -> float:
    return float(len(call.output or ""))


@dataclass(frozen=True)
class Returns:
    """A scorer that returns whatever it is told to."""

    value: Any
    name: str = "returns"
    version: str = "1"
    direction: str = "lower"
    range: tuple[float, float] | None = (0.0, 1.0)

    async def score(self, call: AgentCall) -> Any:
        if isinstance(self.value, BaseException):
            raise self.value
        if callable(self.value):
            return await self.value()
        return self.value


def _run(*scorers: Any, grant: Grant | None = None) -> list[Outcome]:
    tasks = tuple(Task(n, _call(n + 1), scorer) for n, scorer in enumerate(scorers))
    return asyncio.run(execute(Batch(tasks), grant or Grant()))


def test_outcomes_come_in_the_order_of_their_tasks_and_address_their_calls() -> None:
    """However long each took, a score carries its own call's ids."""

    async def slowly() -> float:
        await asyncio.sleep(0.05)
        return 0.1

    first, second = _run(Returns(slowly), Returns(0.2))
    assert [first.key, second.key] == [0, 1]
    assert [first.score.value, second.score.value] == [0.1, 0.2]
    assert [first.score.target, second.score.target] == [_call(1).ref, _call(2).ref]


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), float("-inf"), None, True, "0.4", [0.4], 10**400],
    ids=repr,
)
def test_what_is_no_finite_number_is_no_score(value: object) -> None:
    """anvia-hq/anvia#440, microsoft/PyRIT#2703: never a number, never clamped, always a reason."""
    (outcome,) = _run(Returns(value, range=None))
    assert outcome.score.status is Status.UNSCORED
    assert outcome.score.value is None
    assert outcome.score.reason_code is Reason.SCORER_ERROR
    assert outcome.score.comment


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0])
def test_the_ends_of_the_range_are_scores(value: float) -> None:
    """langfuse/langfuse#7626."""
    (outcome,) = _run(Returns(value))
    assert outcome.score.status is Status.SCORED
    assert outcome.score.value == value
    assert isinstance(outcome.score.value, float)


@pytest.mark.parametrize("value", [-1e-9, 1 + 1e-9, 90])
def test_what_is_outside_the_range_is_named_and_not_clamped(value: float) -> None:
    """langfuse/langfuse#11604: the value stands in the comment, and nowhere else."""
    (outcome,) = _run(Returns(value))
    assert outcome.score.reason_code is Reason.OUT_OF_RANGE
    assert outcome.score.value is None
    assert repr(float(value)) in outcome.score.comment


def test_a_scorer_that_raises_costs_only_its_own_score() -> None:
    """axiomhq/ai#143: siblings are untouched."""
    good, bad, also_good = _run(Returns(0.5), Returns(KeyError("k")), Returns(0.7))
    assert (good.score.value, also_good.score.value) == (0.5, 0.7)
    assert bad.score.reason_code is Reason.SCORER_ERROR
    assert "KeyError" in bad.score.comment


def test_a_scorer_that_hangs_is_timed_out_and_holds_nobody() -> None:
    """A second for one, nothing for the others."""

    async def hang() -> float:
        await asyncio.sleep(60)
        return 0.0

    began = time.monotonic()
    hung, good = _run(Returns(hang), Returns(0.5), grant=Grant(timeout=0.2))
    assert time.monotonic() - began < 20
    assert hung.score.reason_code is Reason.TIMEOUT
    assert good.score.value == 0.5


def test_a_spent_grant_attempts_nothing() -> None:
    """Time up is not_attempted, requests up is over_budget; neither is a number."""
    late = _run(Returns(0.5), grant=Grant(deadline=time.time() - 1))
    assert [outcome.score.reason_code for outcome in late] == [Reason.NOT_ATTEMPTED]
    short = _run(Returns(0.5), Returns(0.6), grant=Grant(requests=1))
    assert short[0].score.value == 0.5
    assert short[1].score.reason_code is Reason.OVER_BUDGET


def test_a_batch_can_be_pickled_and_executed_elsewhere() -> None:
    """The seam for scale: same outcome after a round trip through bytes."""
    batch = Batch((Task("a", _call(), FunctionScorer(length)),))
    copy = pickle.loads(pickle.dumps(batch))
    assert asyncio.run(execute(copy, Grant())) == asyncio.run(execute(batch, Grant()))
    assert asyncio.run(execute(copy, pickle.loads(pickle.dumps(Grant()))))[0].score.value == 6.0


def test_a_plain_function_is_a_scorer() -> None:
    """Sync or async, returning a number or a Score."""

    async def later(call: AgentCall) -> Score:
        return Score.scored("later", 0.25, comment="why")

    sync, asynchronous = _run(as_scorer(length), as_scorer(later))
    assert (sync.score.name, sync.score.value) == ("length", 6.0)
    assert (asynchronous.score.name, asynchronous.score.value) == ("later", 0.25)
    assert asynchronous.score.comment == "why"


def test_a_blocking_function_does_not_block_the_loop() -> None:
    """It runs in a thread."""

    together = threading.Barrier(4)

    def block(call: AgentCall) -> float:
        together.wait(30)  # one after the other, they would never meet
        return 1.0

    assert [one.score.value for one in _run(*[as_scorer(block)] * 4)] == [1.0] * 4


def test_the_protocol_is_met() -> None:
    """A scorer is anything with name, version, direction and score."""
    assert isinstance(Returns(1), Scorer)
    assert isinstance(as_scorer(length), FunctionScorer)


def test_cancelling_reaches_the_scorer() -> None:
    """A run that is stopped leaves no task behind."""
    cancelled = []

    async def hang() -> float:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise
        return 0.0

    async def main() -> None:
        task = asyncio.create_task(execute(Batch((Task(1, _call(), Returns(hang)),)), Grant()))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert cancelled == [True]


async def cancels_itself() -> float:
    raise asyncio.CancelledError


def leaves(call: AgentCall) -> float:
    raise SystemExit(0)


@pytest.mark.parametrize("scorer", [Returns(SystemExit(0)), Returns(cancels_itself), as_scorer(leaves)])
def test_a_scorer_that_leaves_or_cancels_itself_ends_nothing_else(scorer: Scorer) -> None:
    """``sys.exit(0)`` in a scorer would end a night with the exit code of a pass."""
    left, other = _run(scorer, as_scorer(length))
    assert (left.score.status, left.score.reason_code) == (Status.UNSCORED, Reason.SCORER_ERROR)
    assert left.score.comment.startswith("EndedItself: it ")
    assert other.score.value == 6.0


def test_a_cancellation_from_outside_still_cancels() -> None:
    """Only a scorer that cancels itself is told apart; who stops the batch stops it."""

    async def stopped() -> None:
        batch = Batch((Task(0, _call(), Returns(lambda: asyncio.sleep(60))),))
        task = asyncio.create_task(execute(batch, Grant(timeout=30)))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(stopped())


def test_an_async_function_behind_a_plain_one_is_awaited() -> None:
    """A lambda, or a decorator that knows nothing of async, returns something to await."""

    async def later(call: AgentCall) -> float:
        return 0.25

    assert _run(FunctionScorer(lambda call: later(call), name="later"))[0].score.value == 0.25


@pytest.mark.parametrize("name", [None, "", 5])
def test_a_scorer_without_a_name_is_refused_where_it_is_given(name: Any) -> None:
    """Nothing that it finds could be stored."""
    with pytest.raises(ConfigurationError, match="has no name"):
        as_scorer(Returns(0.5, name=name))


def test_a_comment_that_is_no_text_is_the_scorers_error() -> None:
    """It is said as such; it does not get lost when it is stored."""

    async def says(comment: Any) -> Score:
        return Score.scored("returns", 0.5, comment=comment)

    nothing, number = _run(Returns(lambda: says(None)), Returns(lambda: says(5)))
    assert (nothing.score.value, nothing.score.comment) == (0.5, "")
    assert (number.score.reason_code, number.score.comment) == (
        Reason.SCORER_ERROR,
        "returns: a comment is a text, got 5",
    )
