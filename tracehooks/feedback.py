"""Feedback: a score that a person or the application gives, on the same path as every other."""

import logging
from collections.abc import Mapping
from typing import Any

from tracehooks import runtime
from tracehooks.errors import ConfigurationError, InvalidScoreError
from tracehooks.records import DataType, Score, TraceRef, checked_value
from tracehooks.settings import ScoreSettings
from tracehooks.tracing.context import current_trace

logger = logging.getLogger("tracehooks")

# what our own scorers promise about their values; the settings' `scores` add to it
OWN_RANGES = {
    "toxicity_prescreen": ScoreSettings(min=0, max=1, direction="lower"),
    "noise_sensitivity": ScoreSettings(min=0, max=1),
    "noise_facts": ScoreSettings(min=0, max=1),
}


def attach_score(
    name: str,
    value: float | str | bool,
    *,
    trace: TraceRef | str | None = None,
    comment: str = "",
    data_type: DataType = "NUMERIC",
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Attach a score to a call: thumbs, a label, a correction. Returns at once and works in the background.

    ``trace`` is a TraceRef, the trace id of a call that is in the store (32 hex digits; its outermost call is
    meant), or None for the call that is running here. A NUMERIC score takes a finite number, a BOOLEAN one
    True, False, 0 or 1, the others (CATEGORICAL, TEXT, CORRECTION) a string. Where the settings give
    ``scores.<name>`` a range or a type, the score must keep it. Attaching the same name to the same call
    again replaces the score and raises its revision::

        ref = tracehooks.current_trace()
        tracehooks.attach_score("thumbs", 1.0, trace=ref, comment="solved it")

    Raises ValueError for a value, a name or a trace that cannot be meant; never for a transport.
    """
    score = Score.scored(
        name,
        checked_value(name, value, data_type),
        comment=comment,
        data_type=data_type,
        metadata=dict(metadata or {}),
    )
    driver = runtime.online().driver
    _check(score, driver.settings.scores.get(name) or OWN_RANGES.get(name))
    target = _target(trace)
    if not driver.attach(score.at(target)):
        logger.warning("the score %s of trace %s is lost: its queue is full", name, target.trace_id)


def _check(score: Score, declared: ScoreSettings | None) -> None:
    if declared is None:
        return
    if declared.data_type != score.data_type:
        raise InvalidScoreError(f"{score.name}: declared as {declared.data_type}, got {score.data_type}")
    if not isinstance(score.value, float):
        return
    if declared.min is not None and score.value < declared.min:
        raise InvalidScoreError(f"{score.name}: {score.value!r} is below its minimum {declared.min:g}")
    if declared.max is not None and score.value > declared.max:
        raise InvalidScoreError(f"{score.name}: {score.value!r} is above its maximum {declared.max:g}")


def _target(trace: TraceRef | str | None) -> TraceRef:
    if isinstance(trace, TraceRef):
        return trace
    if trace is None:
        here = current_trace()
        if here is None:
            raise ConfigurationError("no traced call is running here: give attach_score a trace")
        return here
    if not isinstance(trace, str):
        raise ConfigurationError(f"trace must be a TraceRef or a trace id, got {trace!r}")
    return _outermost(TraceRef(trace, "0" * 16).trace_id)


def _outermost(trace_id: str) -> TraceRef:
    runtime.flush(1.0)  # the call may be this process's own, on its way into the store
    calls = runtime.online().driver.store.calls.of_trace(trace_id)
    if not calls:
        raise ConfigurationError(f"no call of trace {trace_id} is in the store: give its TraceRef instead")
    return calls[0].ref
