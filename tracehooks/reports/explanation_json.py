"""An explanation for a program."""

from datetime import datetime
from typing import Any

from tracehooks.reports.explanation import Answer, CallAnswers, Explanation
from tracehooks.reports.explanation_next import next_step
from tracehooks.reports.explanation_words import why, without_calls
from tracehooks.store import StoredScore
from tracehooks.store.replays import Replay


def explanation_dict(explanation: Explanation, now: datetime) -> dict[str, Any]:
    """The explanation by name, ready for JSON but for times."""
    return {
        "trace_id": explanation.trace_id,
        "known": explanation.known,
        "spans": explanation.spans,
        "why": without_calls(explanation, now) or None,
        "calls": [_call_dict(call, explanation.hint) for call in explanation.calls],
    }


def _call_dict(answers: CallAnswers, hint: str) -> dict[str, Any]:
    call = answers.call
    return {
        "span_id": answers.span_id,
        "name": call.name if call else None,
        "start": call.start if call else None,
        "end": call.end if call else None,
        "environment": call.environment if call else None,
        "input": call.input if call else None,
        "output": call.output if call else None,
        "truncated": call.truncated if call else None,
        "text_source": call.text_source if call else None,
        "error": call.error if call else None,
        "replay": _replay_dict(answers.replay) if answers.replay else None,
        "answers": [_answer_dict(answer, answers, hint) for answer in answers.answers],
    }


def _replay_dict(replay: Replay) -> dict[str, Any]:
    return {
        "run": replay.run_id,
        "agent": replay.agent,
        "dataset": replay.dataset,
        "case": replay.case,
        "variant": replay.variant,
        "noise_type": replay.noise_type,
        "repeat": replay.repeat,
        "error": replay.error,
    }


def _answer_dict(answer: Answer, call: CallAnswers, hint: str) -> dict[str, Any]:
    step = next_step(answer, call, hint)
    return {
        "score": answer.score_name,
        "outcome": answer.outcome,
        "why": why(answer),
        "next": step.text if step else None,
        "run": answer.run.id if answer.run else None,
        "decision": answer.decision.decision if answer.decision else None,
        "decision_reason": answer.decision.reason if answer.decision else None,
        "looked_at": list(answer.looked_at),
        "result": score_dict(answer.score) if answer.score else None,
        "history": [score_dict(row) for row in answer.history],
    }


def score_dict(score: StoredScore) -> dict[str, Any]:
    """A stored score by name, its metadata included."""
    return {
        "id": score.id,
        "name": score.name,
        "status": score.status,
        "value": score.value,
        "reason_code": score.reason_code,
        "comment": score.comment,
        "trace_id": score.trace_id,
        "span_id": score.span_id,
        "call": score.call_name or None,
        "call_start": score.call_start,
        "environment": score.environment,
        "data_type": score.data_type,
        "revision": score.revision,
        "scorer_version": score.scorer_version,
        "run": score.run_id,
        "probability": score.probability,
        "scored_at": score.scored_at,
        "source": score.source,
        "metadata": dict(score.metadata),
    }
