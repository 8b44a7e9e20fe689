"""An explanation in words: for each call and score, why it is as it is, and what to do."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from tracehooks.records import Reason
from tracehooks.reports.explanation import Answer, CallAnswers, Explanation, Outcome, Unseen
from tracehooks.reports.run_words import Fact
from tracehooks.reports.standing import at_work, mark, state
from tracehooks.reports.wording import (
    count,
    moment,
    number,
    percent,
    plain,
    what_happened,
)
from tracehooks.store import RunRecord, StoredScore
from tracehooks.store.replays import Replay

STILL_OPEN = timedelta(hours=24)


def without_calls(explanation: Explanation, now: datetime) -> str:
    """Why a trace has no call that could be scored; empty when it has one."""
    if explanation.calls:
        return ""
    if explanation.last_span is None:
        return "nothing is stored about this trace: it was never recorded, was lost on its way, or was pruned"
    seen = f"{count(explanation.spans, 'span')} of it, the last ended at {moment(explanation.last_span)} UTC"
    if now - explanation.last_span < STILL_OPEN:
        return f"deferred: its agent span has not ended yet; stored are {seen}"
    return (
        f"no finished agent span: it was lost, never ended, or none is traced as an agent; stored are {seen}"
    )


def verdict(answer: Answer) -> str:
    """What became of the call, in a few words: ``0.71 (moderate)``, ``unscored (timeout)``, ``deferred``."""
    score = answer.score
    if score is None:
        return answer.outcome.replace("_", " ")
    if score.value is None:
        return f"{score.status} ({score.reason_code})"
    band = score.metadata.get("band")
    return f"{number(score.value)} ({plain(band)})" if band else number(score.value)


def why(answer: Answer) -> str:
    """One sentence: why the call has this score, or none."""
    return _WHY[answer.outcome](answer)


def facts(answer: Answer, call: CallAnswers) -> list[Fact]:
    """What else is known, the most telling first."""
    found: list[Fact] = []
    score = answer.score
    if score is not None:
        if score.comment:
            found.append(Fact("comment", plain(score.comment)))
        found.append(Fact("by", _provenance(score)))
    if answer.run is not None:
        found.append(Fact("run", f"{answer.run.id}  {_run(answer.run)}"))
    if score is not None and call.call is not None and call.call.text_source:
        cut = ", cut short when it was recorded" if call.call.truncated else ""
        found.append(Fact("text", f"from {plain(call.call.text_source)}{cut}"))
    if len(answer.history) > 1 or (score is not None and score.revision > 1):
        found.extend(Fact("history", _revision(row)) for row in answer.history)
    return found


def _why_scored(answer: Answer) -> str:
    score = answer.score
    assert score is not None
    if answer.replay is not None and isinstance(score.value, float):
        return _why_noise(answer, answer.replay, score.value)
    threshold = (answer.run.plan if answer.run else {}).get("threshold")
    if not isinstance(score.value, float) or threshold is None:
        return f"scored by a {score.source}"
    side = "above" if _unrounded(score) > threshold else "not above"
    hit = "counts as toxic" if answer.score_name == "toxicity" else "is a candidate"
    meaning = hit if side == "above" else "counts as clean"
    return f"{meaning}: {side} the threshold of {number(threshold)}"


def _why_noise(answer: Answer, replay: Replay, value: float) -> str:
    plan = answer.run.plan if answer.run else {}
    least = (plan.get("gate") or {}).get("min_score") if replay.min_score is None else replay.min_score
    if least is None:
        return "an answer under noise"
    reached = value <= least if plan.get("direction") == "lower" else value >= least
    return f"{'reaches' if reached else 'does not reach'} the {number(least)} that is needed under noise"


def replay_words(replay: Replay) -> str:
    """Which question of which noise run a call was."""
    variant = (
        f"variant {plain(replay.variant)} ({plain(replay.noise_type)})" if replay.variant else "as it is"
    )
    case = f"case {plain(replay.case)} of {plain(replay.dataset)}"
    return f"of run {replay.run_id}: {case}, {variant}, repeat {replay.repeat + 1}"


def _unrounded(score: StoredScore) -> float:
    return float(score.metadata.get("unrounded", score.value))


def _why_skipped(answer: Answer) -> str:
    score = answer.score
    assert score is not None
    words = what_happened(score.reason_code)
    if answer.replay is not None and answer.replay.reason is not None:
        return plain(answer.replay.detail)
    if score.reason_code is not Reason.NO_TEXT:
        return words
    if answer.looked_at:
        return f"{words}: no words in {', '.join(answer.looked_at)}, nor in the spans below"
    return f"{words}: its span recorded no output, and no span below it did"


def _why_unscored(answer: Answer) -> str:
    assert answer.score is not None
    if answer.replay is not None and answer.replay.reason is not None:
        return plain(answer.replay.detail)
    return what_happened(answer.score.reason_code)


def _why_planned(answer: Answer) -> str:
    run, item = answer.run, answer.item
    assert run is not None
    assert item is not None
    held = "being judged now" if item.state == "claimed" and at_work(run) else "not judged yet"
    return f"drawn into the run, {held}: {_RUN_IS[state(run)]}"


_RUN_IS: Mapping[str, str] = {
    "running": "the run is under way",
    "died": "the run's process is gone",
    "waiting": "the run waits for its batch at the judge's provider",
    "interrupted": "the run was interrupted",
    "failed": "the run failed",
    "timed_out": "the run ran out of time",
    "finished": "the run has left it",
    "skipped": "the run was skipped",
}


def _why_sampled_out(answer: Answer) -> str:
    run = answer.run
    assert run is not None
    sample, counts = run.plan.get("sample") or {}, run.counts
    if sample.get("rate") is not None:
        return f"not drawn: the run took {percent(sample['rate'])} of the calls"
    eligible = counts.get("discovered", 0) - counts.get("deferred", 0)
    among = f" among {count(eligible, 'call')}" if eligible else ""
    return f"not drawn: the run's sample was {sample.get('size')}{among}"


def _why_deferred(answer: Answer) -> str:
    run = answer.run
    assert run is not None
    settle = run.plan.get("settle_seconds", 0)
    return f"it had ended less than {settle:g} s (the settle delay) before the run looked"


def _why_already(answer: Answer) -> str:
    assert answer.decision is not None
    return f"an earlier score was found: {plain(answer.decision.reason)}"


def _why_never_seen(answer: Answer) -> str:
    run, unseen = answer.run, answer.unseen
    if run is None or unseen is None:
        return "no run has looked at it: there is none yet"
    window = f"{moment(run.window_start)} to {moment(run.window_end)} UTC"
    return _UNSEEN[unseen].format(run=run.id, window=window, filters=_filters(run))


_UNSEEN: Mapping[Unseen, str] = {
    Unseen.NO_RUN: "no run has looked at it: there is none yet",
    Unseen.AFTER: "it started after the last window that a run covered ({window})",
    Unseen.OUTSIDE: "it is outside every window that a run covered; the newest is {window}",
    Unseen.FILTERED: "the filters of run {run} leave it out ({filters})",
    Unseen.STOPPED: "run {run} stopped before it had planned its calls",
    Unseen.REPLAY: "it is an answer of the noise run {run}, which has not judged it",
    Unseen.LATE: "it was not in the store yet when run {run} looked",
}

_WHY: Mapping[Outcome, Callable[[Answer], str]] = {
    Outcome.SCORED: _why_scored,
    Outcome.UNSCORED: _why_unscored,
    Outcome.SKIPPED: _why_skipped,
    Outcome.PLANNED: _why_planned,
    Outcome.SAMPLED_OUT: _why_sampled_out,
    Outcome.DEFERRED: _why_deferred,
    Outcome.ALREADY_SCORED: _why_already,
    Outcome.NEVER_SEEN: _why_never_seen,
}


_BY: Mapping[str, str] = {
    "job": "a scorer of this machine, no judge asked",
    "hook": "a scorer of this machine while the agent ran, no judge asked",
    "feedback": "feedback",
}


def _provenance(score: StoredScore) -> str:
    who = score.metadata.get("judge_model")
    parts = [f"judge {plain(who)}" if who else _BY.get(score.source, score.source)]
    if score.scorer_version:
        parts.append(f"scorer version {plain(score.scorer_version)}")
    if score.probability is not None:
        parts.append(f"drawn with probability {percent(score.probability)}")
    parts.append(f"at {moment(score.scored_at, seconds=True)} UTC")
    return ", ".join(parts)


def _run(run: RunRecord) -> str:
    return mark(run).lower()


def _revision(row: StoredScore) -> str:
    what = number(row.value) if row.value is not None else f"{row.status} ({row.reason_code})"
    return f"revision {row.revision}: {what} at {moment(row.scored_at, seconds=True)} UTC"


def _filters(run: RunRecord) -> str:
    given = {key: value for key, value in (run.plan.get("filters") or {}).items() if value}
    return "; ".join(f"{key}: {_listed(value)}" for key, value in given.items())


def _listed(value: object) -> str:
    return plain(", ".join(map(str, value)) if isinstance(value, list | tuple) else value)
