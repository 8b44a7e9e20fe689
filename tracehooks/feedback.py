"""Feedback: a score that a person or the application gives, on the same path as every other."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from opentelemetry.context import get_current
from opentelemetry.trace import get_current_span

from tracehooks import runtime
from tracehooks.calls import agent_call, span_record
from tracehooks.errors import ConfigurationError, InvalidScoreError
from tracehooks.hooks.attached import Attached
from tracehooks.records import DataType, Score, TraceRef, checked_value
from tracehooks.tracing.context import Here, here
from tracehooks.tracing.decorator import is_disabled

if TYPE_CHECKING:
    from tracehooks.settings import ScoreSettings

logger = logging.getLogger("tracehooks")


def attach_score(
    name: str,
    value: float | str | bool,
    *,
    trace: TraceRef | str | None = None,
    comment: str | None = "",
    data_type: DataType = "NUMERIC",
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Attach a score to a call: thumbs, a label, a correction. Returns at once and works in the background.

    ``trace`` is a TraceRef, a trace id (32 hex digits; the first outermost call of that trace is meant, by
    whichever process it is stored), or None for the agent's call that is running here. A NUMERIC score takes
    a finite number, a BOOLEAN one True, False, 0 or 1, the others (CATEGORICAL, TEXT, CORRECTION) a string.
    Where the settings give ``scores.<name>`` a range or a type, the score must keep it. Attaching the same
    name to the same call again replaces the score and raises its revision::

        ref = tracehooks.current_trace()
        tracehooks.attach_score("thumbs", 1.0, trace=ref, comment="solved it")

    Raises ValueError for a value, a name, a comment or a trace that cannot be meant; never for a transport.
    A trace id that no call is found for within a minute is one warning, and counted.
    """
    score = Score.scored(
        name,
        checked_value(name, value, data_type),
        comment="" if comment is None else comment,
        data_type=data_type,
        metadata=dict(metadata or {}),
    )
    attached = _addressed(score, trace)
    if is_disabled() or attached is None:
        return
    driver = runtime.online().driver
    _check(score, driver.settings.scores.get(name) or _own_range(name))
    if not driver.attach(attached):
        logger.warning("score %s of trace %s is lost, the queue is full", name, attached.trace_id)


def _addressed(score: Score, trace: TraceRef | str | None) -> Attached | None:
    """The score with its address; None where the call that it is about is not recorded."""
    if isinstance(trace, TraceRef):
        return Attached(score, trace.trace_id, trace)
    if isinstance(trace, str):
        return Attached(score, TraceRef(trace, "f" * 16).trace_id)
    if trace is not None:
        raise ConfigurationError(f"trace must be a TraceRef or a trace id, got {trace!r}")
    place = here(get_current())
    if place is not None:
        return _about_the_call(score, _outermost_agent(place))
    if is_disabled():
        return None
    context = get_current_span().get_span_context()
    if not context.is_valid:
        raise ConfigurationError("no traced call is running here: give attach_score a trace")
    # somebody else's instrumentation traces this
    return Attached(score, f"{context.trace_id:032x}") if context.trace_flags.sampled else None


def _outermost_agent(place: Here) -> Here:
    agent = place.agent
    while agent is not None and agent.outer is not None:
        agent = agent.outer
    return agent or place


def _about_the_call(score: Score, place: Here) -> Attached | None:
    context = place.span.get_span_context()
    if not (context.is_valid and context.trace_flags.sampled):
        return None
    call = agent_call(span_record(place.span))
    return Attached(score, call.trace_id, call.ref, call)


def _check(score: Score, declared: "ScoreSettings | None") -> None:
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


def _own_range(name: str) -> "ScoreSettings | None":
    """What our own scorers promise about their values; the settings' ``scores`` come before it."""
    from tracehooks.settings import ScoreSettings

    if name == "toxicity_prescreen":
        return ScoreSettings(min=0, max=1, direction="lower")
    return ScoreSettings(min=0, max=1) if name in ("noise_sensitivity", "noise_facts") else None
