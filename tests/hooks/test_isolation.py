"""Scorers that fail, hang and lie: the agent does not notice, nor do other scorers, and the counts add up."""

import asyncio
import logging
import math
import resource
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tracehooks
from tests.hooks.counting import ALWAYS, Seen, scores_of, total
from tracehooks import ScoringHook, traced
from tracehooks.hooks import lane
from tracehooks.records import AgentCall, Score, Status
from tracehooks.store import Store

Start = Callable[..., None]


class Released:
    """Something to hang on; released at the end of the test, so that no thread stays behind."""

    def __init__(self) -> None:
        self.event = threading.Event()

    def hang(self, call: AgentCall) -> float:
        self.event.wait(60)
        return 1.0

    async def block(self, call: AgentCall) -> float:
        self.event.wait(60)
        return 1.0


@pytest.fixture
def stuck() -> Iterator[Released]:
    released = Released()
    yield released
    released.event.set()


async def sleeps(call: AgentCall) -> float:
    await asyncio.sleep(60)
    return 1.0


async def deaf(call: AgentCall) -> float:
    """Takes no note of being cancelled."""
    end = time.monotonic() + 12
    while time.monotonic() < end:
        try:
            await asyncio.sleep(0.1)
        except asyncio.CancelledError:
            continue
    return 1.0


def raises(call: AgentCall) -> float:
    raise RuntimeError("no")


def exits(call: AgentCall) -> float:
    sys.exit(3)


async def exits_async(call: AgentCall) -> float:
    raise SystemExit(3)


async def cancels(call: AgentCall) -> float:
    raise asyncio.CancelledError


def ones(name: str) -> Any:
    return Seen(name, 1.0)


def _megabytes() -> float:
    """What the process holds now, where the system tells."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * resource.getpagesize() / 1e6 if statm.exists() else 0.0


def by_name(store: Store) -> dict[str, tuple[str, str | None]]:
    return {score.name: (score.status.value, score.reason_code) for score in scores_of(store)}


@pytest.mark.parametrize("shape", ["sync", "async", "generator", "async generator"])
def test_one_scorer_that_fails_or_hangs_leaves_the_others_and_the_agent_alone(
    start: Start, stored: Store, shape: str
) -> None:
    """axiomhq/ai#143, mastra-ai/mastra#24298, mastra-ai/mastra#19843."""
    start()
    hooks = [ScoringHook(scorer, timeout=1) for scorer in (ones("s1"), raises, sleeps)]

    @traced(hooks=hooks)
    def plain(q: str) -> str:
        return "ok"

    @traced(hooks=hooks)
    async def later(q: str) -> str:
        return "ok"

    @traced(hooks=hooks)
    def stream(q: str) -> Iterator[str]:
        yield "ok"

    @traced(hooks=hooks)
    async def astream(q: str) -> AsyncIterator[str]:
        yield "ok"

    async def collect() -> str:
        return "".join([piece async for piece in astream("q")])

    calls: dict[str, Callable[[], Any]] = {
        "sync": lambda: plain("q"),
        "async": lambda: asyncio.run(later("q")),
        "generator": lambda: "".join(stream("q")),
        "async generator": lambda: asyncio.run(collect()),
    }
    before = time.monotonic()
    assert calls[shape]() == "ok"
    assert time.monotonic() - before < 10
    assert tracehooks.flush(20)
    expected = {
        "s1": ("scored", None),
        "raises": ("unscored", "scorer_error"),
        "sleeps": ("unscored", "timeout"),
    }
    assert by_name(stored) == expected
    for counts in tracehooks.stats()["by_scorer"].values():
        assert counts["triggered"] == total(counts) == 1


@pytest.mark.parametrize(
    "lie", [math.nan, math.inf, -math.inf, None, True, "0.4", [], 10**400, Score], ids=str
)
def test_what_is_no_score_never_becomes_one(start: Start, stored: Store, lie: Any) -> None:
    """anvia-hq/anvia#440, microsoft/PyRIT#2703: not a 0, not a 1, but a row that says why there is none."""
    start()

    @traced(hooks=[ScoringHook(Seen("liar", lie)), ScoringHook(ones("honest"))])
    def agent(q: str) -> str:
        return q

    agent("q")
    assert tracehooks.flush(20)
    assert by_name(stored) == {"liar": ("unscored", "scorer_error"), "honest": ("scored", None)}
    (score,) = [score for score in scores_of(stored) if score.name == "liar"]
    assert (score.value, score.status) == (None, Status.UNSCORED)
    assert tracehooks.stats()["unscored"] == {"scorer_error": 1}


@pytest.mark.parametrize("scorer", [exits, exits_async, cancels])
def test_a_scorer_that_ends_everything_ends_nothing(start: Start, stored: Store, scorer: Any) -> None:
    """SystemExit and cancellation inside a scorer are its own failures: the next call is scored as well."""
    start()

    @traced(hooks=[ScoringHook(scorer), ScoringHook(ones("other"))])
    def agent(q: str) -> str:
        return q

    for _ in range(3):
        agent("q")
    assert tracehooks.flush(20)
    counts = tracehooks.stats()["by_scorer"]
    assert counts[scorer.__name__]["unscored"] == {"scorer_error": 3}
    assert counts["other"]["scored"] == 3


def test_a_scorer_that_blocks_its_loop_is_late_and_holds_up_only_itself(
    start: Start, stuck: Released
) -> None:
    """Written async and blocking all the same: others do not wait for it, and it is counted as a timeout."""
    start()
    other = ones("other")

    @traced(hooks=[ScoringHook(stuck.block, timeout=0.2), ScoringHook(other)])
    def agent(q: str) -> str:
        return q

    agent("1")
    agent("2")
    end = time.monotonic() + 10
    while len(other.calls) < 2 and time.monotonic() < end:
        time.sleep(0.01)
    assert len(other.calls) == 2
    assert tracehooks.flush(20)
    assert tracehooks.stats()["by_scorer"]["block"]["unscored"] == {"timeout": 2}


def test_a_scorer_that_takes_no_note_of_its_timeout_is_counted_in_time(start: Start) -> None:
    """And its place is taken by the next call."""
    start()

    @traced(hooks=[ScoringHook(deaf, timeout=0.2, concurrency=1)])
    def agent(q: str) -> str:
        return q

    agent("1")
    agent("2")
    before = time.monotonic()
    assert tracehooks.flush(20)
    assert time.monotonic() - before < 9
    assert tracehooks.stats()["unscored"] == {"timeout": 2}


def test_a_function_that_hangs_uses_up_a_bounded_number_of_threads(start: Start, stuck: Released) -> None:
    """Then it is not called any more, and each further call says why it has no score."""
    start()
    before = set(threading.enumerate())

    @traced(hooks=[ScoringHook(stuck.hang, timeout=0.05, concurrency=50)])
    def agent(n: int) -> str:
        return str(n)

    for n in range(100):
        agent(n)
    assert tracehooks.flush(30)
    more = set(threading.enumerate()) - before
    assert sum(thread.name == "tracehooks-blocking" for thread in more) <= 32
    counts = tracehooks.stats()["unscored"]
    assert sum(counts.values()) == 100
    assert set(counts) == {"timeout", "scorer_error"}


def test_a_failing_scorer_is_one_line_in_the_log(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    """However often it fails; it names the scorer and a trace, and quotes nothing of what was said."""
    start()

    def leaks(call: AgentCall) -> float:
        raise RuntimeError(f"cannot read {call.output}")

    @traced(hooks=[ScoringHook(leaks), ScoringHook(raises)])
    def agent(n: int) -> str:
        return "a secret"

    with caplog.at_level(logging.INFO, "tracehooks"):
        for n in range(30):
            agent(n)
        assert tracehooks.flush(20)
    lines = [record.getMessage() for record in caplog.records if record.name == "tracehooks"]
    assert sorted(line.split()[1] for line in lines) == ["leaks", "raises"]
    assert "secret" not in str(lines)
    assert all("scorer_error" in line and "tracehooks explain" in line for line in lines)


def test_what_comes_on_top_of_a_full_queue_is_dropped_and_counted(start: Start, stuck: Released) -> None:
    """langfuse/langfuse#1499: the counts add up at any moment, and the other scorer misses nothing."""
    start()

    @traced(hooks=[ScoringHook(stuck.hang, timeout=30), ScoringHook(Seen("quick"), concurrency=64)])
    def agent(n: int) -> str:
        return str(n)

    for n in range(1500):
        agent(n)
        if n % 100 == 0:
            _catch_up("quick")
    stuck.event.set()
    assert tracehooks.flush(60)
    by_scorer = tracehooks.stats()["by_scorer"]
    assert by_scorer["hang"]["dropped"] == {"queue_full": 500}
    assert by_scorer["hang"]["scored"] == 1000
    assert by_scorer["quick"]["scored"] == 1500
    counts = tracehooks.stats()
    assert counts["triggered"] == total(counts) == 3000


def test_large_texts_that_wait_for_a_scorer_are_bounded(
    start: Start, stuck: Released, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand full texts would be gigabytes: what is too large together is dropped and counted."""
    monkeypatch.setattr(lane, "MOST_TEXT", 1_000_000)
    start()

    @traced(hooks=[ScoringHook(stuck.hang, timeout=30)])
    def agent(n: int) -> str:
        return "x" * 200_000

    for n in range(20):
        agent(n)
    stuck.event.set()
    assert tracehooks.flush(20)
    agent(20)
    assert tracehooks.flush(20)
    counts = tracehooks.stats()
    assert counts["triggered"] == total(counts) == 21
    assert counts["dropped_scores"] == {"queue_full": 21 - counts["scored"]}
    assert 2 <= counts["scored"] < 10


def _catch_up(name: str) -> None:
    """Wait until little is pending; the counts add up while work is going on."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        counts = tracehooks.stats()["by_scorer"][name]
        assert counts["triggered"] == total(counts) + counts["pending"]
        if counts["pending"] < 100:
            return
        time.sleep(0.01)


@pytest.mark.slow
def test_ten_thousand_calls_with_scorers_that_fail_hang_and_lie(
    start: Start, stored: Store, stuck: Released
) -> None:
    """triggered = sampled_out + dropped + scored + unscored + skipped, exactly; every answer is right."""
    start()
    scorers: list[Any] = [ones("good"), raises, sleeps, stuck.hang, stuck.block, Seen("lies", math.nan)]
    hooks = [ScoringHook(scorer, timeout=0.3, concurrency=16) for scorer in scorers]
    hooks.append(ScoringHook(ones("sampled"), rate=0.1))

    @traced(hooks=hooks)
    def agent(n: int) -> str:
        return f"answer {n} " + "x" * 500

    before = _megabytes()
    assert all(agent(n).split()[1] == str(n) for n in range(10_000))
    assert _megabytes() - before < 200
    stuck.event.set()
    tracehooks.flush(60)
    counts = tracehooks.stats()
    assert counts["pending"] == 0
    assert counts["triggered"] == total(counts) == 70_000
    for one in counts["by_scorer"].values():
        assert one["triggered"] == total(one) == 10_000
    assert counts["by_scorer"]["good"]["unscored"] == {}
    with_value = stored.scores.page(limit=100_000, status="scored")
    assert len(with_value) == counts["scored"]
    assert not [score for score in with_value if score.name in ("raises", "sleeps", "lies")]
    known = {(call.trace_id, call.span_id) for call in stored.calls.iterate(*ALWAYS)}
    assert {(score.trace_id, score.span_id) for score in scores_of(stored)} <= known
