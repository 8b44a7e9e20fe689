"""Evaluate: many inputs through a target and several scorers, means with n of n, thresholds, one verdict."""

import asyncio
import inspect
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tracehooks.calls.text import agent_words, user_words
from tracehooks.errors import ConfigurationError
from tracehooks.gate import combined
from tracehooks.records import AgentCall, Reason, Score, Status, Verdict
from tracehooks.scorers.function import as_scorer
from tracehooks.scoring.execute import run_scorer, unscored
from tracehooks.threads import DaemonThreads

logger = logging.getLogger("tracehooks")

MIN_COVERAGE = 0.9


@dataclass(frozen=True, slots=True)
class Threshold:
    """Bounds on a mean, both inclusive; None is without bound."""

    min: float | None = None
    max: float | None = None

    def allows(self, mean: float) -> bool:
        """Whether ``mean`` lies within."""
        return (self.min is None or mean >= self.min) and (self.max is None or mean <= self.max)

    def __str__(self) -> str:
        parts = [f"at least {self.min:g}"] if self.min is not None else []
        return " and ".join(parts + ([f"at most {self.max:g}"] if self.max is not None else []))


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemResult:
    """One input: what the target said (``output``), or how it failed (``error``), and all its scores."""

    index: int
    input: Any
    output: Any = None
    error: str | None = None
    call: AgentCall
    scores: Mapping[str, Score]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreSummary:
    """One scorer over all items. ``mean`` is over the scored ones, None when there are none.

    ``planned`` = scored + unscored + skipped, so that a mean never hides what it leaves out.
    """

    name: str
    mean: float | None
    scored: int
    planned: int
    unscored: Mapping[str, int]
    skipped: Mapping[str, int]
    threshold: Threshold | None
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationResult:
    """``scores`` by name, ``items`` in the order of the data, and the verdict over all of them."""

    scores: Mapping[str, ScoreSummary]
    items: Sequence[ItemResult]
    verdict: Verdict

    @property
    def reasons(self) -> list[str]:
        """Why, one sentence for each score."""
        return [summary.reason for summary in self.scores.values()]

    def __rich__(self) -> Any:
        """A table for the terminal."""
        from rich.table import Table

        table = Table(title=f"{self.verdict.upper()}: {len(self.items)} items")
        for heading in ("score", "mean", "scored", "threshold", "verdict", "not scored"):
            table.add_column(heading, overflow="fold")
        for one in self.scores.values():
            missing = {**one.unscored, **one.skipped}
            table.add_row(
                one.name,
                "-" if one.mean is None else f"{one.mean:.3f}",
                f"{one.scored} of {one.planned}",
                str(one.threshold or "-"),
                str(one.verdict),
                ", ".join(f"{reason} {n}" for reason, n in sorted(missing.items())) or "-",
            )
        return table

    def __str__(self) -> str:
        from io import StringIO

        from rich.console import Console

        text = StringIO()
        Console(file=text, width=100).print(self)
        return text.getvalue().rstrip()


Target = Callable[[Any], Any]
Callback = Callable[[ItemResult], Awaitable[None] | None]


async def evaluate(
    *,
    data: Iterable[Mapping[str, Any]],
    scorers: Sequence[Any],
    target: Target | None = None,
    thresholds: Mapping[str, float | Mapping[str, float] | Threshold] | None = None,
    on_item_complete: Callback | None = None,
    concurrency: int = 8,
    min_coverage: float = MIN_COVERAGE,
) -> EvaluationResult:
    """Run every item of ``data`` through ``target`` and every scorer.

    An item is a mapping with ``"input"`` (a text, chat messages, or whatever the target takes) and, without
    a target, ``"output"``; what else it holds is the call's metadata. ``target`` is called with the input;
    sync, async and streaming ones are welcome. ``on_item_complete`` is called with each ItemResult as it is
    done. ``concurrency`` bounds the items at work.

    A threshold is a bound on the mean in the score's bad direction (at most, where lower is better), or
    ``{"min": ..., "max": ...}``. The verdict is *inconclusive* when fewer than ``min_coverage`` of a score's
    planned items were scored, or there was nothing to score. Raises ConfigurationError for a threshold that
    no scorer answers to, and for one number where the scorer declares no direction::

        result = await tracehooks.evaluate(
            data=[{"input": "Where is my parcel?"}],
            scorers=[ToxicityScorer(judge)],
            target=agent,
            thresholds={"toxicity": 0.1},
        )
        assert result.verdict == "pass"
    """
    wanted = [as_scorer(scorer) for scorer in scorers]
    bounds = _thresholds(thresholds or {}, wanted)
    if isinstance(concurrency, bool) or concurrency < 1:
        raise ConfigurationError(f"concurrency must be at least 1, got {concurrency!r}")
    machine = _Machine(wanted, target, on_item_complete, asyncio.Semaphore(concurrency))
    rows = [_checked(index, row, target) for index, row in enumerate(data)]
    items = await asyncio.gather(*(machine.item(index, row) for index, row in enumerate(rows)))
    summaries = {
        scorer.name: _summary(scorer.name, items, bounds.get(scorer.name), min_coverage) for scorer in wanted
    }
    return EvaluationResult(
        scores=summaries, items=items, verdict=combined(one.verdict for one in summaries.values())
    )


@dataclass(frozen=True)
class _Machine:
    scorers: Sequence[Any]
    target: Target | None
    callback: Callback | None
    slots: asyncio.Semaphore
    threads: DaemonThreads = field(default_factory=lambda: DaemonThreads(limit=1000))

    async def item(self, index: int, row: Mapping[str, Any]) -> ItemResult:
        async with self.slots:
            output, error = await self._output(row)
            call = AgentCall(
                input=user_words(row["input"]).text,
                output=agent_words(output).text,
                error=error,
                metadata={key: value for key, value in row.items() if key not in ("input", "output")},
            )
            scores = await asyncio.gather(*(self._score(scorer, call) for scorer in self.scorers))
        result = ItemResult(
            index=index,
            input=row["input"],
            output=output,
            error=error,
            call=call,
            scores={scorer.name: score for scorer, score in zip(self.scorers, scores, strict=True)},
        )
        await self._tell(result)
        return result

    async def _output(self, row: Mapping[str, Any]) -> tuple[Any, str | None]:
        if self.target is None:
            return row["output"], None
        try:
            return await _called(self.target, row["input"], self.threads), None
        except Exception as error:
            return None, f"{type(error).__name__}: {error}"

    async def _score(self, scorer: Any, call: AgentCall) -> Score:
        if call.error is not None:
            return unscored(scorer, Reason.NOT_ATTEMPTED, f"the target raised {call.error}")
        return await run_scorer(scorer, call)

    async def _tell(self, result: ItemResult) -> None:
        if self.callback is None:
            return
        try:
            answer = self.callback(result)
            if inspect.isawaitable(answer):
                await answer
        except Exception:
            logger.warning("on_item_complete raised on item %d", result.index, exc_info=True)


async def _called(target: Target, given: Any, threads: DaemonThreads) -> Any:
    """What ``target`` answers: awaited, or its stream put together."""
    if inspect.iscoroutinefunction(target) or inspect.isasyncgenfunction(target):
        answer = target(given)
    else:
        answer = await threads.run(_drained, target, given)
    if inspect.isawaitable(answer):
        answer = await answer
    if hasattr(answer, "__aiter__"):
        return _joined([piece async for piece in answer])
    return answer


def _drained(target: Target, given: Any) -> Any:
    answer = target(given)
    return _joined(list(answer)) if inspect.isgenerator(answer) else answer


def _joined(pieces: list[Any]) -> Any:
    return "".join(pieces) if all(isinstance(piece, str) for piece in pieces) else pieces


def _checked(index: int, row: Any, target: Target | None) -> Mapping[str, Any]:
    if not isinstance(row, Mapping) or "input" not in row:
        raise ConfigurationError(f"data[{index}] must be a mapping with the key 'input', got {row!r}")
    if target is None and "output" not in row:
        raise ConfigurationError(f"data[{index}] has no 'output', and there is no target to ask for one")
    return row


def _thresholds(given: Mapping[str, Any], scorers: Sequence[Any]) -> dict[str, Threshold]:
    known = {scorer.name: scorer for scorer in scorers}
    for name in given:
        if name not in known:
            raise ConfigurationError(
                f"thresholds[{name!r}]: no scorer has this name; known: {', '.join(known)}"
            )
    return {name: _threshold(name, value, known[name]) for name, value in given.items()}


def _threshold(name: str, value: Any, scorer: Any) -> Threshold:
    if isinstance(value, Threshold):
        return value
    if isinstance(value, Mapping):
        unknown = set(value) - {"min", "max"}
        if unknown or not value:
            raise ConfigurationError(f"thresholds[{name!r}] takes min and max, got {dict(value)!r}")
        low, high = (_number(name, value[key]) if key in value else None for key in ("min", "max"))
        if low is not None and high is not None and low > high:
            raise ConfigurationError(f"thresholds[{name!r}]: min {low:g} is above max {high:g}")
        return Threshold(low, high)
    bound = _number(name, value)
    direction = getattr(scorer, "direction", None)
    if direction not in ("lower", "higher"):
        raise ConfigurationError(
            f"thresholds[{name!r}]: the scorer declares no direction, so {bound:g} may be a minimum or a"
            ' maximum; give {"min": ...} or {"max": ...}, or declare a direction'
        )
    return Threshold(max=bound) if direction == "lower" else Threshold(min=bound)


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < float("inf"):
        raise ConfigurationError(f"thresholds[{name!r}] must be a finite number, got {value!r}")
    return float(value)


def _summary(
    name: str, items: Sequence[ItemResult], threshold: Threshold | None, min_coverage: float
) -> ScoreSummary:
    scores = [item.scores[name] for item in items]
    values = [
        float(s.value) for s in scores if s.status is Status.SCORED and not isinstance(s.value, str | None)
    ]
    mean = sum(values) / len(values) if values else None
    by_status = {
        status: Counter(str(score.reason_code) for score in scores if score.status is status)
        for status in (Status.UNSCORED, Status.SKIPPED)
    }
    scored = sum(score.status is Status.SCORED for score in scores)
    wanted = scored + by_status[Status.UNSCORED].total()
    verdict, reason = _ruling(name, mean, scored, wanted, threshold, min_coverage)
    return ScoreSummary(
        name=name,
        mean=mean,
        scored=scored,
        planned=len(scores),
        unscored=by_status[Status.UNSCORED],
        skipped=by_status[Status.SKIPPED],
        threshold=threshold,
        verdict=verdict,
        reason=reason,
    )


def _ruling(
    name: str, mean: float | None, scored: int, wanted: int, threshold: Threshold | None, min_coverage: float
) -> tuple[Verdict, str]:
    if not wanted:
        return Verdict.INCONCLUSIVE, f"{name}: no_data: there was nothing to score"
    if scored < min_coverage * wanted:
        return (
            Verdict.INCONCLUSIVE,
            f"{name}: coverage: {scored} of {wanted} scored, {min_coverage:.0%} needed",
        )
    if threshold is None:
        return Verdict.PASS, f"{name}: {scored} of {wanted} scored, no threshold given"
    if mean is None:
        return Verdict.INCONCLUSIVE, f"{name}: its values are no numbers, so a threshold decides nothing"
    allowed = threshold.allows(mean)
    reason = f"{name}: mean {mean:.4g} of {scored} scored ({wanted} wanted), threshold {threshold}"
    return (Verdict.PASS if allowed else Verdict.FAIL), reason
