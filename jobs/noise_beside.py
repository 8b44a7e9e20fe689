"""The facts that cases declare, checked beside a judge: a second score, by which no verdict goes."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tracehooks.records import AgentCall, TraceRef
from tracehooks.replay.asks import Ask
from tracehooks.scorers.noise_facts import NoiseFactsScorer
from tracehooks.scoring.deliver import all_results, unwanted
from tracehooks.store import ScoreRecord, Store
from tracehooks.store.encoding import chunks
from tracehooks.store.replays import Replay, ReplayKey

AT_ONCE = 500


@dataclass(frozen=True, kw_only=True)
class FactsBeside:
    """Checks answers by their cases' facts, on this machine. ``asks`` tell what was asked."""

    store: Store
    project: str
    sinks: Mapping[str, Any]
    asks: Mapping[ReplayKey, Ask]

    def check(self, replays: Sequence[Replay]) -> None:
        """Store a score for each of ``replays`` whose case declares facts, and that has none yet."""
        scorer = NoiseFactsScorer()
        declared = [one for one in replays if self.asks[one.key].metadata.get("facts")]
        known = self.store.scores.of_calls(map(_address, declared), scorer.name)
        left = [one for one in declared if (one.trace_id, one.span_id) not in known]
        for some in chunks(left, AT_ONCE):
            self.store.scores.commit(
                [self._record(scorer, one) for one in some],
                project=self.project,
                sinks=tuple(self.sinks),
                all_results=all_results(self.sinks),
                unwanted=unwanted(self.sinks),
            )

    def _record(self, scorer: NoiseFactsScorer, replay: Replay) -> ScoreRecord:
        ask, at = self.asks[replay.key], _address(replay)
        call = AgentCall(
            trace_id=at.trace_id, span_id=at.span_id, output=replay.answer, metadata=dict(ask.metadata)
        )
        score = asyncio.run(scorer.score(call))
        labelled = replace(score, metadata={**score.metadata, **ask.labels})
        return ScoreRecord(score=labelled, run_id=replay.run_id, scorer_version=scorer.version)


def _address(replay: Replay) -> TraceRef:
    return TraceRef(replay.trace_id or "", replay.span_id or "")
