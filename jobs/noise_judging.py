"""The second pass of a noise night: the answers judged by the one machine, each on its own trace."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from tracehooks.jobs.judging import Judging
from tracehooks.jobs.noise_beside import FactsBeside
from tracehooks.records import AgentCall, Reason, Score, TraceRef
from tracehooks.replay.asks import Ask
from tracehooks.replay.rows import answers
from tracehooks.scoring import Tally
from tracehooks.scoring.canaries import CanaryCheck
from tracehooks.scoring.deliver import all_results, unwanted
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, ScoreRecord, Store, WorkItem
from tracehooks.store.replays import Replay, ReplayKey


@dataclass(frozen=True, kw_only=True)
class NoiseJudging:
    """Judges what a run's replays brought. ``asks`` tell what was asked, ``deadline`` is since 1970.

    ``canaries`` are judged beside the answers, where there are answers at all.
    """

    settings: Settings
    store: Store
    scorer: Any
    sinks: Mapping[str, Any]
    asks: Mapping[ReplayKey, Ask]
    canaries: CanaryCheck
    owner: str
    deadline: float | None = None
    clock: Callable[[], datetime]
    cache: bool = True
    halted: Callable[[], bool] = lambda: False
    progress: Callable[[int, int], None] = lambda done, total: None

    def judge(self, run: RunRecord) -> Tally:
        """Judge each answer that has no result yet. Returns what this pass did."""
        self._say_why_not(run)
        replays = [one for one in self.store.replays.of_run(run.id) if _can_be_judged(one)]
        if getattr(self.scorer, "judge", None) is not None:
            self._beside.check(replays)
        self.store.items.add(run.id, (self._item(one) for one in replays))
        keys = {(one.trace_id, one.span_id): one.key for one in replays}
        judging = Judging(
            settings=self.settings,
            store=self.store,
            scorer=self.scorer,
            sinks=self.sinks,
            owner=self.owner,
            deadline=self.deadline,
            clock=self.clock,
            cache=self.cache,
            halted=self.halted,
        )
        return judging.judge(
            run,
            first=lambda: self._judge_canaries(run, replays),
            progress=lambda tally, total: self.progress(tally.done, total),
            prepare=lambda call: self._with_case(call, keys[call.trace_id, call.span_id]),
            labels=lambda item: self.asks[keys[item.trace_id, item.span_id]].labels,
        )

    def _judge_canaries(self, run: RunRecord, replays: Sequence[Replay]) -> None:
        if replays:  # an agent that never answered leaves nothing to doubt
            self.canaries.judge(run, int(run.counts["planned"]))

    @property
    def _beside(self) -> FactsBeside:
        return FactsBeside(store=self.store, project=self.settings.project, sinks=self.sinks, asks=self.asks)

    def _say_why_not(self, run: RunRecord) -> None:
        """Put onto the traces of replays that no judge need see why they have no score."""
        found = answers(self.store, run)
        open_ones = [one.replay for one in found if one.replay.reason and one.score is None]
        self.store.scores.commit(
            [self._unscorable(one) for one in open_ones if one.trace_id is not None],
            project=self.settings.project,
            sinks=tuple(self.sinks),
            all_results=all_results(self.sinks),
            unwanted=unwanted(self.sinks),
        )

    def _unscorable(self, replay: Replay) -> ScoreRecord:
        assert replay.reason is not None
        make = Score.skipped if replay.reason is Reason.NOT_APPLICABLE else Score.unscored
        comment = f"Not scored: {replay.detail}"
        score = make(self.scorer.name, replay.reason, comment, metadata=self.asks[replay.key].labels)
        return ScoreRecord(
            score=score.at(_address(replay)),
            run_id=replay.run_id,
            scorer_version=self.scorer.version,
        )

    def _item(self, replay: Replay) -> WorkItem:
        at = _address(replay)
        return WorkItem(
            run_id=replay.run_id, trace_id=at.trace_id, span_id=at.span_id, score_name=self.scorer.name
        )

    def _with_case(self, call: AgentCall, key: ReplayKey) -> AgentCall:
        """The call with what a noise scorer asks for: the case, and the noise wherever it sat."""
        ask = self.asks[key]
        return replace(call, input=ask.text, metadata={**call.metadata, **ask.metadata})


def _can_be_judged(replay: Replay) -> bool:
    return replay.done and replay.reason is None and replay.trace_id is not None


def _address(replay: Replay) -> TraceRef:
    return TraceRef(replay.trace_id or "", replay.span_id or "")
