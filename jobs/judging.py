"""Judging the items of a run by the one machine: its batches, its budget, and what was answered before."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tracehooks.scoring import Coordinator, Grant, Tally
from tracehooks.scoring.batching import Batching
from tracehooks.scoring.caching import caching
from tracehooks.scoring.deliver import all_results, unwanted
from tracehooks.scoring.spending import spending
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store


@dataclass(frozen=True, kw_only=True)
class Judging:
    """What both kinds of night do with what they planned. ``deadline`` is in seconds since 1970."""

    settings: Settings
    store: Store
    scorer: Any
    sinks: Mapping[str, Any]
    owner: str
    clock: Callable[[], datetime]
    deadline: float | None = None
    cache: bool = True
    rescore: bool = False
    halted: Callable[[], bool] = lambda: False
    stage: Callable[[str], None] = lambda text: None

    def judge(self, run: RunRecord, *, first: Callable[[], None] = lambda: None, **more: Any) -> Tally:
        """Judge each item that has no result yet, after ``first``; ``more`` goes to the coordinator.

        Returns what this pass did, or that the run waits for its batches.
        """
        coordinator = self._coordinator(**more)
        batching = self._batching(run, coordinator)
        with (
            spending(self.settings, self.store, run, self.scorer, self.clock),
            caching(
                self.settings, self.store, run, self.scorer, enabled=self.cache, reading=not self.rescore
            ),
        ):
            first()
            if batching.waits():
                return Tally(waiting=True)
            self.stage(f"judging {self.store.items.remaining(run.id):,} calls")
            with batching.replies():
                tally = asyncio.run(coordinator.work(run.id))
        batching.close()
        tally.include(batching.first)
        return tally

    def _coordinator(self, **more: Any) -> Coordinator:
        return Coordinator(
            store=self.store,
            scorer=self.scorer,
            project=self.settings.project,
            sinks=tuple(self.sinks),
            all_results=all_results(self.sinks),
            unwanted=unwanted(self.sinks),
            concurrency=self.settings.judge.concurrency,
            rescore=self.rescore,
            owner=self.owner,
            grant=Grant(deadline=self.deadline),
            halted=self.halted,
            **more,
        )

    def _batching(self, run: RunRecord, coordinator: Coordinator) -> Batching:
        return Batching(
            settings=self.settings,
            coordinator=coordinator,
            run=run,
            clock=self.clock,
            cache=self.cache,
            reading=not self.rescore,
            stage=self.stage,
        )


def pass_report(tally: Tally) -> dict[str, Any]:
    """What the last pass itself did, beside what the run has."""
    return {
        "judged": tally.done,
        "requests": tally.requests,
        "input_tokens": tally.input_tokens,
        "output_tokens": tally.output_tokens,
        "cached": tally.cached,
    }
