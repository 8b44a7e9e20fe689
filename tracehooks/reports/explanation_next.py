"""What to do so that a call gets a score."""

from collections.abc import Callable, Mapping
from datetime import timedelta

from tracehooks.records import Reason
from tracehooks.reports.explanation import Answer, CallAnswers, Outcome, Unseen
from tracehooks.reports.run_words import Step, again
from tracehooks.reports.wording import instant, what_to_do
from tracehooks.store.replays import Replay


def next_step(answer: Answer, call: CallAnswers, hint: str = "") -> Step | None:
    """What to do so that the call gets a score; None when nothing is missing."""
    make = _NEXT.get(answer.outcome)
    return make(answer, call).with_hint(hint) if make else None


def _next_unscored(answer: Answer, call: CallAnswers) -> Step:
    assert answer.score is not None
    if answer.replay is not None:
        return _about_replay(answer.replay, answer.score.reason_code)
    command = again(answer.run) if answer.run else _one_call(call)
    return Step(command, f"{what_to_do(answer.score.reason_code)}:")


def _about_replay(replay: Replay, reason: Reason | None) -> Step:
    """A failed call has to be asked anew; a stored answer can be judged again."""
    if replay.reason is not None:
        return Step("tracehooks run noise", "mend the agent, then ask it anew:")
    return Step(f"tracehooks resume {replay.run_id}", f"{what_to_do(reason)}:")


def _next_skipped(answer: Answer, call: CallAnswers) -> Step:
    assert answer.score is not None
    return Step("", what_to_do(answer.score.reason_code))


def _next_planned(answer: Answer, call: CallAnswers) -> Step:
    assert answer.run is not None
    return Step(f"tracehooks resume {answer.run.id}", "finish the run:")


def _next_sampled_out(answer: Answer, call: CallAnswers) -> Step:
    return Step(_one_call(call), "nothing is wrong; to judge it all the same:")


def _next_deferred(answer: Answer, call: CallAnswers) -> Step:
    return Step("tracehooks run toxicity", "the next run takes it in:")


def _next_never_seen(answer: Answer, call: CallAnswers) -> Step:
    if answer.unseen is Unseen.REPLAY and answer.run is not None:
        return Step(f"tracehooks resume {answer.run.id}", "finish the run:")
    if answer.unseen in (Unseen.NO_RUN, Unseen.AFTER, Unseen.LATE):
        return Step("tracehooks run toxicity", "the next run takes it in:")
    if answer.unseen is Unseen.STOPPED and answer.run is not None:
        return Step(f"tracehooks resume {answer.run.id}", "finish the run:")
    if answer.unseen is Unseen.FILTERED:
        return Step("", "change jobs.toxicity.filters to let it in")
    return Step(_one_call(call), "to judge it:")


_NEXT: Mapping[Outcome, Callable[[Answer, CallAnswers], Step]] = {
    Outcome.UNSCORED: _next_unscored,
    Outcome.SKIPPED: _next_skipped,
    Outcome.PLANNED: _next_planned,
    Outcome.SAMPLED_OUT: _next_sampled_out,
    Outcome.DEFERRED: _next_deferred,
    Outcome.NEVER_SEEN: _next_never_seen,
}


def _one_call(call: CallAnswers) -> str:
    """A run over this call alone: a window of one microsecond draws all there is in it."""
    if call.call is None:
        return "tracehooks run toxicity"
    start = call.call.start
    return (
        f"tracehooks run toxicity --from {instant(start)} --to {instant(start + timedelta(microseconds=1))}"
    )
