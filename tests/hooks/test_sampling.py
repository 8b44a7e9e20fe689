"""Which calls a hook scores is decided by the trace id alone."""

from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, TraceIdRatioBased

import tracehooks
from tests.hooks.counting import ALWAYS, Seen, scores_of, total
from tracehooks import ScoringHook, traced
from tracehooks.sampling import in_sample
from tracehooks.store import Store

Start = Callable[..., None]


def _calls(hooks: list[ScoringHook], count: int) -> None:
    @traced(hooks=hooks)
    def agent(n: int) -> str:
        return f"answer {n}"

    for n in range(count):
        agent(n)
    assert tracehooks.flush(60)


@pytest.mark.parametrize(("rate", "scored"), [(0.0, 0), (0, 0), (1.0, 400), (1, 400)])
def test_rates_0_and_1_mean_what_they_say(start: Start, rate: float, scored: int) -> None:
    """PostHog/posthog#27909, langfuse/langfuse-python#1784, DataDog/dd-trace-py#1935: 0 is not "unset"."""
    start(hooks=[])
    seen = Seen()
    _calls([ScoringHook(seen, rate=rate, concurrency=64)], 400)
    assert len(seen.calls) == scored
    counts = tracehooks.stats()
    assert (counts["triggered"], counts["sampled_out"]) == (400, 400 - scored)


def test_a_rate_of_0_in_the_settings_stays_0(start: Start, recorded: Seen) -> None:
    """langfuse/langfuse-python#1784."""
    start(hooks=[{"scorer": "recorded", "rate": 0}])
    _calls([], 50)
    assert recorded.calls == []
    assert tracehooks.stats()["sampled_out"] == 50


@pytest.mark.parametrize("rate", [-0.1, 1.5, float("nan"), "half", True, None])
def test_a_rate_that_is_none_is_refused_when_configured(start: Start, recorded: Seen, rate: Any) -> None:
    """DataDog/dd-trace-py#1935: on the decorator as in the settings."""
    with pytest.raises(ValueError, match="rate"):
        ScoringHook(Seen(), rate=rate)
    with pytest.raises(ValueError, match="rate"):
        start(hooks=[{"scorer": "recorded", "rate": rate}])


def test_a_smaller_rate_scores_a_part_of_what_a_larger_one_scores(start: Start) -> None:
    """For every scorer alike: a trace that both judged can be compared."""
    start()
    some, many, others = Seen("some"), Seen("many"), Seen("others")
    _calls([ScoringHook(some, rate=0.1), ScoringHook(many, rate=0.4), ScoringHook(others, rate=0.4)], 300)
    drawn = {seen.name: {call.trace_id for call in seen.calls} for seen in (some, many, others)}
    assert drawn["some"] < drawn["many"] == drawn["others"]
    assert all(in_sample(trace, 0.4) for trace in drawn["many"])
    assert 60 < len(drawn["many"]) < 180


def test_calls_nested_in_one_trace_are_in_or_out_together(start: Start) -> None:
    """The decision is the trace's."""
    start()
    outer_seen, inner_seen = Seen("outer"), Seen("inner")

    @traced(hooks=[ScoringHook(inner_seen, rate=0.5)])
    def inner(n: int) -> str:
        return "inner"

    @traced(hooks=[ScoringHook(outer_seen, rate=0.5)])
    def outer(n: int) -> str:
        return inner(n)

    for n in range(60):
        outer(n)
    assert tracehooks.flush(30)
    assert {call.trace_id for call in outer_seen.calls} == {call.trace_id for call in inner_seen.calls}
    assert 0 < len(outer_seen.calls) < 60


def test_every_score_has_its_trace_where_the_provider_samples(start: Start, stored: Store) -> None:
    """langfuse/langfuse-python#1890: a score never points to a trace that was not recorded."""
    start(TracerProvider(sampler=TraceIdRatioBased(0.05), shutdown_on_exit=False))
    seen = Seen()
    _calls([ScoringHook(seen, concurrency=64)], 2000)
    scores = scores_of(stored)
    calls = {(call.trace_id, call.span_id) for call in stored.calls.iterate(*ALWAYS)}
    assert {(score.trace_id, score.span_id) for score in scores} == calls
    assert 0 < len(scores) == len(seen.calls) < 400
    counts = tracehooks.stats()
    assert counts["triggered"] == total(counts) == len(scores)


def test_nothing_recorded_is_nothing_scored_and_feedback_says_nothing(start: Start, stored: Store) -> None:
    """langfuse/langfuse-python#1890: an application that gives feedback in its agent does not fail for it."""
    start(TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False))
    seen = Seen()

    @traced(hooks=[ScoringHook(seen)])
    def agent(q: str) -> str:
        tracehooks.attach_score("thumbs", 1.0)
        return q

    assert agent("q") == "q"
    assert tracehooks.flush(10)
    assert seen.calls == []
    assert scores_of(stored) == []
