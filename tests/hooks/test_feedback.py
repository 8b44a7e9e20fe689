"""Feedback: thumbs, labels and corrections on the call that they are about, on the path of every score."""

import logging
import math
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

import tracehooks
from tests.hooks.counting import ALWAYS, scores_of
from tests.hooks.distribution import installed, write_distribution
from tests.hooks.sinks import MOODY, MoodySink
from tracehooks import TraceRef, attach_score, traced
from tracehooks.errors import ConfigurationError, InvalidScoreError
from tracehooks.hooks import attached
from tracehooks.store import Store, StoredScore

Start = Callable[..., None]
REF = TraceRef("ab" * 16, "cd" * 8)
NO_NUMBERS: list[Any] = [math.nan, math.inf, -math.inf, None, True, False, "0.4", [], 10**400]


@traced
def agent(question: str) -> TraceRef | None:
    return tracehooks.current_trace()


def called() -> TraceRef:
    ref = agent("Where is my parcel?")
    assert ref is not None
    return ref


def only(store: Store) -> StoredScore:
    assert tracehooks.flush(20)
    (score,) = scores_of(store)
    return score


@pytest.mark.parametrize(
    ("value", "data_type", "kept"),
    [
        (1.0, "NUMERIC", 1.0),
        (0, "NUMERIC", 0.0),
        (-3, "NUMERIC", -3.0),
        (True, "BOOLEAN", 1.0),
        (False, "BOOLEAN", 0.0),
        (1, "BOOLEAN", 1.0),
        ("positive", "CATEGORICAL", "positive"),
        ("It said nothing about the refund.", "TEXT", "It said nothing about the refund."),
        ("It arrives on Monday.", "CORRECTION", "It arrives on Monday."),
    ],
)
def test_every_kind_of_feedback_is_stored_as_what_it_is(
    start: Start, stored: Store, value: Any, data_type: Any, kept: Any
) -> None:
    """langfuse/langfuse#7626: 0 and False are values; with comment and metadata, about the call."""
    start(environment="production")
    ref = called()
    attach_score("thumbs", value, trace=ref, data_type=data_type, comment="why", metadata={"by": "user"})
    score = only(stored)
    assert (score.value, score.data_type, score.status) == (kept, data_type, "scored")
    assert type(score.value) is type(kept)
    assert (score.trace_id, score.span_id) == (ref.trace_id, ref.span_id)
    assert (score.comment, score.metadata, score.source) == ("why", {"by": "user"}, "feedback")
    (call,) = stored.calls.iterate(*ALWAYS)
    assert (score.call_start, score.call_name, score.environment) == (call.start, "agent", "production")


@pytest.mark.parametrize(
    ("value", "data_type"),
    [
        *((wrong, "NUMERIC") for wrong in NO_NUMBERS),
        *((wrong, "BOOLEAN") for wrong in (2, 0.5, "true", None, math.nan)),
        *(
            (wrong, kind)
            for wrong in (1, True, None, "", "  ")
            for kind in ("CATEGORICAL", "TEXT", "CORRECTION")
        ),
    ],
)
def test_what_is_no_value_is_refused_at_the_door(
    start: Start, stored: Store, value: Any, data_type: Any
) -> None:
    """anvia-hq/anvia#440, microsoft/PyRIT#2703: nothing becomes a number by chance."""
    start()
    with pytest.raises(ValueError, match="thumbs"):
        attach_score("thumbs", value, trace=REF, data_type=data_type)
    assert tracehooks.flush(5)
    assert scores_of(stored) == []


@pytest.mark.parametrize("name", ["", "  ", "\u200b"])
def test_a_name_that_nobody_sees_is_refused_at_the_door(start: Start, name: str) -> None:
    """A ValueError, as for a value."""
    start()
    with pytest.raises(ValueError, match="needs a name"):
        attach_score(name, 1.0, trace=REF)


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0, 0.5])
def test_the_ends_of_a_range_belong_to_it(start: Start, stored: Store, value: float) -> None:
    """langfuse/langfuse#7626."""
    start(scores={"helpful": {"min": 0, "max": 1}})
    attach_score("helpful", value, trace=called())
    assert only(stored).value == float(value)


@pytest.mark.parametrize("value", [-1e-9, 1 + 1e-9, 5, -1])
def test_what_is_outside_is_refused_by_name(start: Start, value: float) -> None:
    """langfuse/langfuse#7626: for a score of one's own, and for one of ours whose range is known."""
    start(scores={"helpful": {"min": 0, "max": 1}})
    for name in ("helpful", "noise_sensitivity", "toxicity_prescreen"):
        with pytest.raises(InvalidScoreError, match=name):
            attach_score(name, value, trace=REF)


def test_a_declared_type_is_kept(start: Start, stored: Store) -> None:
    """A name has one type."""
    start(scores={"label": {"data_type": "CATEGORICAL"}})
    with pytest.raises(InvalidScoreError, match="declared as CATEGORICAL"):
        attach_score("label", 1.0, trace=REF)
    attach_score("label", "good", trace=called(), data_type="CATEGORICAL")
    assert only(stored).value == "good"


def test_inside_a_traced_call_its_agent_is_meant(start: Start, stored: Store) -> None:
    """From a tool, and from an agent within the agent: the call is the outermost."""
    start()
    outermost = []

    @traced(kind="tool")
    def tool(q: str) -> None:
        attach_score("from_tool", 1.0)

    @traced
    def inner(q: str) -> None:
        attach_score("from_inner", 1.0)
        tool(q)

    @traced
    def outer(q: str) -> str:
        outermost.append(tracehooks.current_trace())
        attach_score("from_outer", 1.0)
        inner(q)
        return "done"

    outer("q")
    assert tracehooks.flush(20)
    scores = scores_of(stored)
    assert {score.name for score in scores} == {"from_tool", "from_inner", "from_outer"}
    assert {score.ref for score in scores} == set(outermost)
    (call,) = stored.calls.iterate(*ALWAYS)
    assert {(score.call_start, score.call_name) for score in scores} == {(call.start, "outer")}


def test_inside_somebody_elses_span_its_call_is_meant(start: Start, stored: Store) -> None:
    """Agents that another instrumentation traces need no edit for it."""
    provider = TracerProvider(shutdown_on_exit=False)
    start(provider)
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "help-desk"}
    with provider.get_tracer("framework").start_as_current_span("invoke_agent", attributes=attributes):
        attach_score("thumbs", 1.0)
    assert tracehooks.flush(20)
    (call,) = stored.calls.iterate(*ALWAYS)
    assert only(stored).ref == call.ref


def test_outside_of_everything_somebody_must_be_named(start: Start) -> None:
    """Or it is a mistake."""
    start()
    with pytest.raises(ValueError, match="give attach_score a trace"):
        attach_score("thumbs", 1.0)


@pytest.mark.parametrize(
    "trace", ["xyz", "AB" * 16, "ab" * 15, "550e8400-e29b-41d4-a716-446655440000", 7, ""]
)
def test_a_trace_that_is_none_is_refused(start: Start, trace: Any) -> None:
    """A UUID with dashes, capitals, or something else altogether."""
    start()
    with pytest.raises(ValueError, match="trace"):
        attach_score("thumbs", 1.0, trace=trace)


OTHER = """
import sys, tracehooks
tracehooks.init({"store": sys.argv[1], "project": "shop"})
tracehooks.attach_score("thumbs", 1.0, trace=sys.argv[2], comment="from elsewhere")
assert tracehooks.flush(20)
"""


def test_another_process_gives_feedback_by_trace_id(start: Start, stored: Store, url: str) -> None:
    """The one that has the button is not the one that had the agent."""
    start()
    ref = called()
    assert tracehooks.flush(20)
    done = subprocess.run([sys.executable, "-c", OTHER, url, ref.trace_id], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (score,) = scores_of(stored)
    assert (score.ref, score.comment, score.call_name) == (ref, "from elsewhere", "agent")


def test_feedback_may_come_before_its_call_is_stored(start: Start, stored: Store) -> None:
    """By trace id, while the call's own process has not flushed: it waits."""
    start()
    begun = time.monotonic()
    ref = called()
    attach_score("thumbs", 1.0, trace=ref.trace_id)
    assert time.monotonic() - begun < 10
    end = time.monotonic() + 20
    while not scores_of(stored) and time.monotonic() < end:
        time.sleep(0.05)  # nobody flushes
    assert only(stored).ref == ref


def test_a_trace_that_never_comes_is_told_and_counted(
    start: Start, stored: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """flush is False until then, and the score is no score of something else."""
    monkeypatch.setattr(attached, "TRACE_SECONDS", 1.0)
    start()
    with caplog.at_level(logging.WARNING, "tracehooks"):
        attach_score("thumbs", 1.0, trace="ef" * 16)
        assert not tracehooks.flush(0.5)
        assert tracehooks.stats()["feedback"]["pending"] == 1
        end = time.monotonic() + 20
        while tracehooks.stats()["feedback"]["pending"] and time.monotonic() < end:
            time.sleep(0.05)
    assert tracehooks.stats()["feedback"]["dropped"] == {"unknown_trace": 1}
    assert scores_of(stored) == []
    assert sum("efefef" in record.getMessage() for record in caplog.records) == 1


def test_a_span_that_is_not_in_the_store_can_be_scored(start: Start, stored: Store) -> None:
    """Its trace may be kept elsewhere: its address is all that is needed."""
    start()
    attach_score("thumbs", 1.0, trace=REF)
    score = only(stored)
    assert (score.ref, score.call_name) == (REF, "")


def test_a_changed_mind_is_a_revision(start: Start, stored: Store) -> None:
    """tinyhumansai/tinyagents#53: one score, its last value, and a history."""
    start()
    ref = called()
    for value in (1.0, 0.0, 1.0):
        attach_score("thumbs", value, trace=ref, comment=f"{value}")
        assert tracehooks.flush(20)
    score = only(stored)
    assert (score.value, score.revision) == (1.0, 3)
    assert [entry.value for entry in stored.scores.history(score.id)] == [1.0, 0.0, 1.0]


@pytest.mark.parametrize("mood", ["raise", "hang", "refuse", "forget"])
def test_a_dead_sink_never_raises_at_the_application(
    start: Start, stored: Store, tmp_path: Path, mood: Any
) -> None:
    """langfuse/langfuse#3456: the score is stored, and waits."""
    points = {"moody": "tests.hooks.sinks:Moody"}
    with installed(write_distribution(tmp_path / "sinks", "tracehooks.sinks", points)):
        sink: MoodySink = MOODY
        sink.be(mood)
        start(sinks=["moody"])
        begun = time.monotonic()
        attach_score("thumbs", 1.0, trace=called())
        assert time.monotonic() - begun < 10
        assert not tracehooks.flush(1)
        sink.released.set()
    (score,) = scores_of(stored)
    assert score.value == 1.0


def test_an_unusable_store_never_raises_at_the_application(tmp_path: Path) -> None:
    """By whatever way the call is named."""
    (tmp_path / "folder").write_text("no folder")
    tracehooks.init({"store": f"sqlite:///{tmp_path}/folder/store.db"})
    for trace in (REF, REF.trace_id):
        attach_score("thumbs", 1.0, trace=trace)
    assert not tracehooks.flush(10)
    assert tracehooks.stats()["feedback"]["dropped"] == {"store_failed": 2}


def test_switched_off_it_does_nothing(start: Start, stored: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """TRACEHOOKS_DISABLED: nothing is traced, so nothing runs here that could be meant."""
    start()
    monkeypatch.setenv("TRACEHOOKS_DISABLED", "1")
    attach_score("thumbs", 1.0)
    attach_score("thumbs", 1.0, trace=REF)
    with pytest.raises(InvalidScoreError):
        attach_score("thumbs", math.nan)
    with pytest.raises(ConfigurationError):
        attach_score("thumbs", 1.0, trace=7)  # type: ignore[arg-type]
    assert tracehooks.flush(5)
    assert scores_of(stored) == []


def test_a_name_is_needed(start: Start) -> None:
    """A score without one cannot be found again."""
    start()
    with pytest.raises(ValueError, match="name"):
        attach_score("", 1.0, trace=REF)


def test_feedback_without_a_comment_is_kept_and_a_comment_that_is_no_text_refused(
    start: Start, stored: Store
) -> None:
    """A form hands on None where nobody wrote anything; what is no text could not be stored later."""
    start()
    ref = called()
    with pytest.raises(ValueError, match="a comment is a text, got 5"):
        attach_score("thumbs", 1.0, trace=ref, comment=5)  # type: ignore[arg-type]
    attach_score("thumbs", 1.0, trace=ref, comment=None)
    assert (only(stored).value, only(stored).comment) == (1.0, "")
