"""Evaluate: many inputs through a target and several scorers, means with n of n, thresholds, one verdict."""

import asyncio
import inspect
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tracehooks.calls.text import agent_words, user_words
from tracehooks.contained import contained
from tracehooks.errors import ConfigurationError
from tracehooks.evaluation.linking import ItemTrace, Linking, keep, linked, linking
from tracehooks.evaluation.result import EvaluationResult, ItemResult, summary_of
from tracehooks.evaluation.targets import Target, answer_of
from tracehooks.evaluation.thresholds import Threshold, thresholds_of
from tracehooks.gate import combined
from tracehooks.records import AgentCall, Reason, Score
from tracehooks.scorers.function import as_scorer
from tracehooks.scoring.execute import run_scorer, unscored
from tracehooks.threads import DaemonThreads

logger = logging.getLogger("tracehooks")

MIN_COVERAGE = 0.9
TIMEOUT = 300.0
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
    timeout: float = TIMEOUT,  # noqa: ASYNC109 - of each score, not of the whole
) -> EvaluationResult:
    """Run every item of ``data`` through ``target`` and every scorer.

    An item is a mapping with ``"input"`` (a text, chat messages, or whatever the target takes) and, without
    a target, ``"output"``; what else it holds is the call's metadata. ``target`` is called with the input;
    sync, async and streaming ones are welcome. ``on_item_complete`` is called with each ItemResult as it is
    done. ``concurrency`` bounds the items at work, ``timeout`` the seconds of one score.

    When tracing is running (``tracehooks.init()``) an item's scores also go onto the trace that its target
    made: the call that is judged is then its outermost agent call, and the scores are stored and delivered.

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
    _check_given(data, scorers, target)
    wanted = _distinct([as_scorer(scorer) for scorer in scorers])
    bounds = thresholds_of(thresholds or {}, wanted)
    if isinstance(concurrency, bool) or concurrency < 1:
        raise ConfigurationError(f"concurrency must be at least 1, got {concurrency!r}")
    rows = [_checked(index, row, target) for index, row in enumerate(data)]
    with linking() as links:
        machine = _Machine(wanted, target, on_item_complete, asyncio.Semaphore(concurrency), timeout, links)
        items = await asyncio.gather(*(machine.item(index, row) for index, row in enumerate(rows)))
    summaries = {
        scorer.name: summary_of(scorer.name, items, bounds.get(scorer.name), min_coverage)
        for scorer in wanted
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
    timeout: float
    links: Linking | None
    threads: DaemonThreads = field(default_factory=lambda: DaemonThreads(limit=1000))

    async def item(self, index: int, row: Mapping[str, Any]) -> ItemResult:
        async with self.slots:
            output, error, traced = await self._traced_output(row)
            call = AgentCall(
                input=user_words(row["input"]).text,
                output=agent_words(output).text,
                error=error,
                metadata={key: value for key, value in row.items() if key not in ("input", "output")},
            )
            call = linked(call, traced)
            scores = await asyncio.gather(*(self._score(scorer, call) for scorer in self.scorers))
        result = ItemResult(
            index=index,
            input=row["input"],
            output=output,
            error=error,
            call=call,
            scores={scorer.name: score for scorer, score in zip(self.scorers, scores, strict=True)},
        )
        if traced is not None:
            for scorer, score in zip(self.scorers, scores, strict=True):
                keep(call, score, scorer)
        await self._tell(result)
        return result

    async def _traced_output(self, row: Mapping[str, Any]) -> tuple[Any, str | None, AgentCall | None]:
        """What the target said, how it failed, and its call where that was traced."""
        if self.links is None or self.target is None:
            return *await self._output(row), None
        trace = self.links.new_item()
        # a task of its own, so that nothing of the item's context stays behind
        output, error = await asyncio.create_task(self._followed(trace, row))
        self.links.forget(trace)
        return output, error, trace.call()

    async def _followed(self, trace: ItemTrace, row: Mapping[str, Any]) -> tuple[Any, str | None]:
        trace.enter()
        return await self._output(row)

    async def _output(self, row: Mapping[str, Any]) -> tuple[Any, str | None]:
        if self.target is None:
            return row["output"], None
        try:
            return await contained(answer_of(self.target, row["input"], self.threads)), None
        except Exception as error:
            return None, f"{type(error).__name__}: {error}"

    async def _score(self, scorer: Any, call: AgentCall) -> Score:
        if call.error is not None:
            return unscored(scorer, Reason.NOT_ATTEMPTED, f"the target raised {call.error}")
        return await run_scorer(scorer, call, self.timeout)

    async def _tell(self, result: ItemResult) -> None:
        if self.callback is None:
            return
        try:
            answer = self.callback(result)
            if inspect.isawaitable(answer):
                await answer
        except Exception:
            logger.warning("on_item_complete raised on item %d", result.index, exc_info=True)


def _distinct(scorers: list[Any]) -> list[Any]:
    for name, count in Counter(scorer.name for scorer in scorers).items():
        if count > 1:
            raise ConfigurationError(f"scorers: {count} of them are named {name!r}; give each its own name")
    return scorers


def _check_given(data: Any, scorers: Any, target: Any) -> None:
    if not isinstance(data, Iterable) or isinstance(data, str | bytes | Mapping):
        raise ConfigurationError(f"data must be a list of mappings with the key 'input', got {data!r}")
    if not isinstance(scorers, Iterable) or isinstance(scorers, str | Mapping):
        raise ConfigurationError(f"scorers must be a list of them, got {scorers!r}")
    if target is not None and not callable(target):
        raise ConfigurationError(f"target must be a function of an item's input, got {target!r}")


def _checked(index: int, row: Any, target: Target | None) -> Mapping[str, Any]:
    if not isinstance(row, Mapping) or "input" not in row:
        raise ConfigurationError(f"data[{index}] must be a mapping with the key 'input', got {row!r}")
    if target is None and "output" not in row:
        raise ConfigurationError(f"data[{index}] has no 'output', and there is no target to ask for one")
    return row
