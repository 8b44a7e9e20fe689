"""The seam for scale: a batch of calls and a grant go in, scores come out. No store, no sink, picklable."""

import asyncio
import logging
import time
from dataclasses import dataclass, replace
from typing import Any

from tracehooks.contained import contained
from tracehooks.errors import InvalidScoreError
from tracehooks.judges.posting import asking_about
from tracehooks.records import AgentCall, Reason, Score, Status, checked_value

logger = logging.getLogger("tracehooks")


@dataclass(frozen=True, slots=True)
class Task:
    """One call to be scored by one scorer. ``key`` comes back with the outcome."""

    key: Any
    call: AgentCall
    scorer: Any


@dataclass(frozen=True, slots=True)
class Batch:
    """Tasks that are executed together."""

    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What an execution may use; None is without limit.

    ``deadline`` is in seconds since the epoch; ``timeout`` bounds one score, in seconds; ``requests``
    bounds how many of the batch are judged: what it does not reach is ``over_budget``.
    """

    deadline: float | None = None
    timeout: float | None = None
    requests: int | None = None

    def seconds_left(self, now: float) -> float | None:
        """Seconds that one score may still take; None without limit, 0 or less when time is up."""
        left = None if self.deadline is None else self.deadline - now
        if self.timeout is None:
            return left
        return self.timeout if left is None else min(left, self.timeout)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The score of one task, addressed to its call. ``not_attempted`` means that no answer was waited for."""

    key: Any
    score: Score


async def execute(batch: Batch, grant: Grant) -> list[Outcome]:
    """Score every task of ``batch`` at once within ``grant``; one outcome each, in their order.

    Never raises for a task: a scorer that raises, hangs or returns nonsense gets an unscored score.
    """
    return list(
        await asyncio.gather(*(_outcome(task, index, grant) for index, task in enumerate(batch.tasks)))
    )


async def _outcome(task: Task, index: int, grant: Grant) -> Outcome:
    seconds = grant.seconds_left(time.time())
    if seconds is not None and seconds <= 0:
        score = unscored(task.scorer, Reason.NOT_ATTEMPTED, "the run's time was up before this call's turn")
    elif grant.requests is not None and index >= grant.requests:
        score = unscored(task.scorer, Reason.OVER_BUDGET, "the budget was spent before this call's turn")
    else:
        score = await run_scorer(task.scorer, task.call, seconds)
        if score.reason_code is Reason.TIMEOUT and _is_over(grant):
            # it was the run that had no more time, not the call that took too long: a later pass asks again
            score = unscored(task.scorer, Reason.NOT_ATTEMPTED, "the run's time was up before its answer")
    return Outcome(task.key, score.at(task.call.ref))


def _is_over(grant: Grant) -> bool:
    return grant.deadline is not None and time.time() >= grant.deadline


async def run_scorer(scorer: Any, call: AgentCall, seconds: float | None = None) -> Score:
    """What ``scorer`` finds about ``call`` within ``seconds``, checked. Raises only CancelledError."""
    try:
        with asking_about(call.ref):
            async with asyncio.timeout(seconds):
                score = await contained(scorer.score(call))
        return checked(scorer, score)
    except TimeoutError:
        return unscored(
            scorer, Reason.TIMEOUT, f"the scorer took longer than {seconds:g} s" if seconds else ""
        )
    except InvalidScoreError as error:
        return unscored(scorer, Reason.SCORER_ERROR, str(error))
    except Exception as error:
        logger.debug("scorer %s raised %s", scorer.name, type(error).__name__)
        return unscored(scorer, Reason.SCORER_ERROR, f"{type(error).__name__}: {error}")


def checked(scorer: Any, found: Any) -> Score:
    """``found`` as a Score, under its scorer's name and within its range, else unscored."""
    is_score = isinstance(found, Score)
    score: Score = found if is_score else Score.scored(scorer.name, checked_value(scorer.name, found))
    if score.name != scorer.name:
        score = replace(score, name=scorer.name)
    bounds = getattr(scorer, "range", None)
    if score.status is Status.SCORED and bounds is not None and isinstance(score.value, float):
        low, high = bounds
        if (low is not None and score.value < low) or (high is not None and score.value > high):
            return unscored(
                scorer,
                Reason.OUT_OF_RANGE,
                f"{score.value!r} is outside {low:g}..{high:g}",
                dict(score.metadata),
            )
    return score


def unscored(scorer: Any, reason: Reason, comment: str, metadata: dict[str, Any] | None = None) -> Score:
    """A score without a value under the scorer's name."""
    return Score.unscored(scorer.name, reason, comment, metadata=metadata or {})
