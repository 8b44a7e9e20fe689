"""Whole nights with Langfuse: from a decorated call to a confirmed score on its trace."""

import os
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import TraceIdRatioBased

import tracehooks
from tests.exporters.langfuse.desk import settings, shown
from tests.fake_langfuse import FakeLangfuse
from tests.stored import fill, mixed, trace_id
from tracehooks import ScoringHook, traced
from tracehooks.jobs.toxicity import ToxicityNight
from tracehooks.records import AgentCall, Score, Verdict
from tracehooks.scoring import Deliverer, load_sinks
from tracehooks.store import Store, open_store
from tracehooks.tracing.trouble import trouble

JOB = {"jobs": {"toxicity": {"settle": 0, "window": "all", "gate": {"max_rate": 0.5}}}}
QUICK = {"confirm_after": "100ms"}


class Fixed:
    """Gives every call with text the same score."""

    name, version, direction, threshold, range = "toxicity", "1", "lower", 0.0, (0.0, 1.0)

    def __init__(self, value: float = 0.0) -> None:
        self.value = value
        self.asked = 0

    async def score(self, call: AgentCall) -> Score:
        self.asked += 1
        return Score.scored(self.name, self.value, comment=f"judged as {self.value}")


@pytest.fixture(autouse=True)
def _start_anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [name for name in os.environ if name.startswith(("OTEL_", "LANGFUSE_"))]:
        monkeypatch.delenv(name)
    trouble.clear()
    yield
    tracehooks.shutdown(5)


@traced(name="support-bot")
def answer(question: str) -> str:
    return f"The answer to {question}"


def now() -> datetime:
    return datetime.now(UTC) + timedelta(seconds=1)


def test_from_a_decorated_call_to_a_confirmed_score(any_langfuse: FakeLangfuse, tmp_path: Path) -> None:
    """langfuse/langfuse#13823: on its trace, once; the night again adds none; judged anew, it is updated."""
    given = settings(any_langfuse, folder=tmp_path, langfuse=QUICK, **JOB)
    tracehooks.init(given)
    for n in range(60):
        answer(str(n))
    assert tracehooks.flush(20)
    spans = {(row["traceId"], row["id"]) for row in any_langfuse.observations}
    assert len(spans) == 60
    with open_store(given.store) as store:
        for clock, value, rescore in ((now, 0.2, False), (now, 0.4, False), (_tomorrow, 0.7, True)):
            scorer = Fixed(value)
            ToxicityNight(settings=given, store=store, scorer=scorer, clock=clock, rescore=rescore).run()
            assert store.outbox.counts() == {"langfuse": {"confirmed": 60}}
            assert scorer.asked == (0 if value == 0.4 else 60)
            assert set(shown(any_langfuse).values()) == {0.2 if value == 0.4 else value}
            assert {(row["traceId"], row["observationId"]) for row in any_langfuse.scores} == spans


def _tomorrow() -> datetime:
    return now() + timedelta(days=1)


@pytest.mark.parametrize("status", [408, 503])
def test_a_server_that_fails_all_night_costs_nothing(
    langfuse: FakeLangfuse, tmp_path: Path, status: int
) -> None:
    """langfuse/langfuse#3456: agents go on, scores wait, the gate decides from here; then all arrive."""
    given = settings(langfuse, folder=tmp_path, langfuse=QUICK, **JOB)
    tracehooks.init(given)
    langfuse.fail("/", status=status, times=None)
    assert [answer(str(n)) for n in range(25)] == [f"The answer to {n}" for n in range(25)]
    assert not tracehooks.flush(1.0)
    with open_store(given.store) as store:
        first = ToxicityNight(settings=given, store=store, scorer=Fixed(), clock=now).run()
        assert (first.verdict, first.state) == (Verdict.PASS, "finished")
        assert store.outbox.counts() == {"langfuse": {"pending": 25}}
        langfuse.clear()
        store.outbox.hurry("langfuse")
        second = ToxicityNight(settings=given, store=store, scorer=Fixed(), clock=_tomorrow).run()
        assert second.verdict is Verdict.PASS
        assert store.outbox.counts() == {"langfuse": {"confirmed": 25}}
    assert len(shown(langfuse)) == 25
    assert tracehooks.flush(30)
    assert len(langfuse.observations) == 25


def test_scores_follow_the_traces_sampler(langfuse: FakeLangfuse, tmp_path: Path) -> None:
    """langfuse/langfuse-python#1890: no score points at a trace that was never exported."""
    given = settings(langfuse, folder=tmp_path, langfuse=QUICK)
    provider = TracerProvider(sampler=TraceIdRatioBased(0.1))
    tracehooks.init(given, tracer_provider=provider)

    @traced(name="sampled", hooks=[ScoringHook(Fixed(0.5))])
    def sampled(n: int) -> str:
        return f"answer {n}"

    for n in range(400):
        sampled(n)
    assert tracehooks.flush(20)
    traces = {row["traceId"] for row in langfuse.observations}
    assert 10 < len(traces) < 120
    assert set(shown(langfuse)) == traces


def test_feedback_goes_the_same_way(any_langfuse: FakeLangfuse, tmp_path: Path) -> None:
    """A user's thumbs, attached to a call, arrive at its span, with their own type."""
    tracehooks.init(settings(any_langfuse, folder=tmp_path, langfuse=QUICK))

    @traced(name="rated")
    def rated() -> Any:
        return tracehooks.current_trace()

    ref = rated()
    tracehooks.attach_score("thumbs", True, trace=ref, data_type="BOOLEAN", comment="helped")
    assert tracehooks.flush(20)
    (row,) = any_langfuse.scores
    assert (row["traceId"], row["observationId"]) == (ref.trace_id, ref.span_id)
    assert (row["name"], row["value"], row["comment"]) == ("thumbs", True, "helped")


def test_scores_made_in_the_background_are_confirmed_later(langfuse: FakeLangfuse, tmp_path: Path) -> None:
    """An online score is delivered at once, and looked for by the same background thread."""
    given = settings(langfuse, folder=tmp_path, langfuse=QUICK)
    tracehooks.init(given)

    @traced(name="watched", hooks=[ScoringHook(Fixed(0.5))])
    def watched() -> str:
        return "hello"

    watched()
    assert tracehooks.flush(20)
    with open_store(given.store) as store:
        assert sum(store.outbox.counts()["langfuse"].values()) == 1
        Deliverer(store, load_sinks(given), owner="later").confirm(10)
        assert store.outbox.counts() == {"langfuse": {"confirmed": 1}}


def test_the_gate_does_not_depend_on_the_server(tmp_path: Path) -> None:
    """The same verdict with a server, with one that is down, and without."""
    verdicts = []
    for name, up in (("up", True), ("down", False)):
        (tmp_path / name).mkdir()
        with FakeLangfuse() as server:
            given = settings(server, folder=tmp_path / name, langfuse=QUICK, **JOB)
            if not up:
                server.down()
            with open_store(given.store) as store:
                verdicts.append(_verdict(given, store))
            if up:
                assert set(shown(server)) == {trace_id(n) for n in range(30)}
    assert verdicts == [Verdict.FAIL] * 2


def _verdict(given: Any, store: Store) -> Verdict | None:
    fill(store, mixed(30, 3))
    scorer = Fixed(random.Random(1).uniform(0.5, 1))
    return ToxicityNight(settings=given, store=store, scorer=scorer, clock=now).run().verdict
