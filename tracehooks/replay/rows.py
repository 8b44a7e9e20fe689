"""A noise run's rows and answers, read back from the store: its replays, and the scores on their traces."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tracehooks.noise.rows import NoiseRow
from tracehooks.records import Reason, Status
from tracehooks.store import RunRecord, Store, StoredScore
from tracehooks.store.replays import Replay

REFS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class ReplayAnswer:
    """One replay, its row, and its score where there is one.

    ``why`` says in words why there is no value; empty where there is one.
    """

    replay: Replay
    row: NoiseRow
    score: StoredScore | None
    why: str = ""

    @property
    def text(self) -> str | None:
        """What the agent said; None when it said nothing or failed."""
        return self.replay.answer


def noise_rows(store: Store, run: RunRecord) -> list[NoiseRow]:
    """The rows of a noise run, one for each replay that it planned, in the order of the plan.

    A row without a score has its reason: that of the score, that of the replay (``not_attempted`` where the
    agent failed, ``not_applicable`` where the noise never reached it), or ``not_attempted`` where nobody was
    asked yet. ``case`` has the dataset's name before it (``help-desk/returns``) where the run has several.
    """
    return [answer.row for answer in answers(store, run)]


def answers(store: Store, run: RunRecord) -> list[ReplayAnswer]:
    """The replays of a noise run with their rows and scores, in the order of the plan."""
    replays = [one for one in store.replays.of_run(run.id) if one.variant is not None]
    scores = _scores(store, replays, str(run.plan.get("score_name") or ""))
    several = len(run.plan.get("datasets") or {}) > 1
    return list(_answers(replays, scores, several=several))


def _scores(store: Store, replays: list[Replay], name: str) -> Mapping[tuple[str, str], StoredScore]:
    from tracehooks.records import TraceRef

    refs = [TraceRef(one.trace_id, one.span_id) for one in replays if one.trace_id and one.span_id]
    found: dict[tuple[str, str], StoredScore] = {}
    for start in range(0, len(refs), REFS_AT_ONCE):
        found.update(store.scores.of_calls(refs[start : start + REFS_AT_ONCE], name))
    return found


def _answers(
    replays: list[Replay], scores: Mapping[tuple[str, str], StoredScore], *, several: bool
) -> Iterator[ReplayAnswer]:
    for one in replays:
        score = scores.get((one.trace_id or "", one.span_id or ""))
        value, reason, why = _outcome(one, score)
        row = NoiseRow(
            case=f"{one.dataset}/{one.case}" if several else one.case,
            variant=one.variant or "",
            noise_type=one.noise_type,
            repeat=one.repeat,
            value=value,
            reason=reason,
            min_score=one.min_score,
        )
        yield ReplayAnswer(one, row, score, why)


def _outcome(replay: Replay, score: StoredScore | None) -> tuple[float | None, Reason | None, str]:
    if replay.reason is not None:
        return None, replay.reason, replay.detail
    if score is None:
        waits = "the answer is not judged yet" if replay.done else "the agent is not asked yet"
        return None, Reason.NOT_ATTEMPTED, waits
    if score.status is Status.SCORED and isinstance(score.value, float):
        return score.value, None, ""
    return None, score.reason_code or Reason.SCORER_ERROR, score.comment
