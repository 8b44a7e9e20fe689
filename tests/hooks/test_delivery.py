"""Scores on their way to sinks: none is lost or doubled, and ``flush`` tells the truth."""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tracehooks
from tests.hooks.counting import Seen, scores_of, total
from tests.hooks.sinks import STEADY, Mood, MoodySink
from tracehooks import ScoringHook, runtime, traced
from tracehooks.hooks import delivery
from tracehooks.store import Store

Start = Callable[..., None]


def calls_with(*scorers: Any, count: int = 1) -> None:
    @traced(hooks=[ScoringHook(scorer) for scorer in scorers])
    def agent(n: int) -> str:
        return f"answer {n}"

    for n in range(count):
        agent(n)


def test_every_score_reaches_every_sink_once(start: Start, stored: Store, moody: MoodySink) -> None:
    """With the call that it is about."""
    start(sinks=["moody", "steady"])
    calls_with(Seen("one"), Seen("two"), count=50)
    assert tracehooks.flush(20)
    for sink in (moody, STEADY):
        assert len(sink.taken) == len({delivery.id for delivery in sink.taken}) == 100
        assert all(delivery.call and delivery.call.name == "agent" for delivery in sink.taken)
    assert tracehooks.stats()["undelivered"] == {"moody": 0, "steady": 0}
    assert stored.outbox.counts() == {"moody": {"accepted": 100}, "steady": {"accepted": 100}}


@pytest.mark.parametrize("mood", ["raise", "forget"])
def test_flush_is_false_until_a_failing_sink_has_taken_everything(
    start: Start, stored: Store, moody: MoodySink, mood: Mood, monkeypatch: pytest.MonkeyPatch
) -> None:
    """langfuse/langfuse#3456: the scores wait in the store and are delivered when the sink is back."""
    monkeypatch.setattr(delivery, "FIRST_PAUSE", 0.2)
    moody.be(mood)
    start(sinks=["moody"])
    calls_with(Seen(), count=25)
    assert not tracehooks.flush(10)
    assert not tracehooks.flush(0.5)
    assert tracehooks.stats()["undelivered"] == {"moody": 25}
    assert len(scores_of(stored)) == 25
    moody.be("take")
    with sqlite3.connect(stored.url.removeprefix("sqlite:///")) as connection:
        connection.execute("UPDATE outbox SET next_attempt = 0")
    end = time.monotonic() + 20
    while tracehooks.stats()["undelivered"] != {"moody": 0} and time.monotonic() < end:
        time.sleep(0.05)  # it tries again by itself, although nothing more is scored
    assert len({one.id for one in moody.taken}) == 25
    assert tracehooks.flush(10)


def test_a_sink_that_hangs_holds_up_neither_flush_nor_the_other_sinks(start: Start, moody: MoodySink) -> None:
    """open-telemetry/opentelemetry-python#3309: within its timeout; nor shutdown."""
    moody.be("hang")
    start(sinks=["moody", "steady"])
    calls_with(Seen(), count=3)
    before = time.monotonic()
    assert not tracehooks.flush(1.5)
    assert time.monotonic() - before < 10
    assert len(STEADY.taken) == 3
    before = time.monotonic()
    assert not tracehooks.shutdown(1)
    assert time.monotonic() - before < 10


def test_what_a_sink_refuses_for_good_is_told_once(
    start: Start, stored: Store, moody: MoodySink, caplog: pytest.LogCaptureFixture
) -> None:
    """By flush, and by one line in the log; it is not tried for ever."""
    moody.be("refuse")
    start(sinks=["moody"])
    with caplog.at_level(logging.WARNING, "tracehooks"):
        calls_with(Seen(), count=5)
        assert not tracehooks.flush(10)
        assert tracehooks.flush(10)
        calls_with(Seen(), count=5)
        assert not tracehooks.flush(10)
    assert [record.getMessage() for record in caplog.records] == ["sink moody did not take 5 scores: 400"]
    assert stored.outbox.counts() == {"moody": {"dead": 10}}


def test_a_sink_that_asks_for_it_gets_what_has_no_value_too(start: Start, moody: MoodySink) -> None:
    """Others never see it."""
    moody.wants_unscored = True
    start(sinks=["moody", "steady"])
    calls_with(Seen("good"), Seen("bad", None))
    assert tracehooks.flush(10)
    assert {(one.score.name, one.score.status.value) for one in moody.taken} == {
        ("good", "scored"),
        ("bad", "unscored"),
    }
    assert [one.score.name for one in STEADY.taken] == ["good"]


def test_one_result_that_the_store_refuses_does_not_take_the_others_along(
    start: Start, stored: Store, url: str
) -> None:
    """langfuse/langfuse#1676, bbvch-ai/aihub-core#1795: it alone is dropped, and counted."""
    with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
        connection.execute(
            "CREATE TRIGGER no BEFORE INSERT ON scores WHEN NEW.name = 'cursed' "
            "BEGIN SELECT RAISE(ABORT, 'cursed'); END"
        )
    start()
    calls_with(Seen("blessed"), Seen("cursed"), count=5)
    assert not tracehooks.flush(20)
    assert {score.name for score in scores_of(stored)} == {"blessed"}
    counts = tracehooks.stats()
    assert counts["dropped_scores"] == {"store_failed": 5}
    assert counts["scored"] == 5
    assert counts["triggered"] == total(counts) == 10
    assert tracehooks.flush(5), "it was told once"


def test_a_store_that_cannot_be_opened_costs_the_agent_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One line in the log for each part, and every loss counted."""
    (tmp_path / "store.db").write_text("this is no database, " * 1000)
    with caplog.at_level(logging.WARNING, "tracehooks"):
        tracehooks.init({"store": f"sqlite:///{tmp_path}/store.db"})
        calls_with(Seen(), count=20)
        tracehooks.attach_score("thumbs", 1.0, trace="ab" * 16)
        assert not tracehooks.flush(20)
    counts = tracehooks.stats()
    assert counts["triggered"] == total(counts) == 20
    assert counts["dropped_scores"] == {"store_failed": 20}
    assert counts["feedback"] == {"attached": 1, "stored": 0, "dropped": {"store_failed": 1}, "pending": 0}
    assert sum("storing scores" in record.getMessage() for record in caplog.records) == 1


def test_shutdown_commits_what_is_ready_and_counts_what_is_not(start: Start, stored: Store) -> None:
    """Nothing is committed by half, and nothing afterwards."""
    release = threading.Event()
    start()
    calls_with(Seen("quick"), count=30)

    def slow(call: Any) -> float:
        release.wait(20)
        return 1.0

    calls_with(slow, count=4)
    driver = runtime.online().driver
    assert not tracehooks.shutdown(2)
    counts = driver.stats()
    assert counts["by_scorer"]["quick"]["scored"] == 30
    assert counts["by_scorer"]["slow"]["dropped"] == {"closed": 4}
    assert counts["pending"] == 0
    release.set()
    time.sleep(0.3)
    assert len(scores_of(stored)) == 30
    assert driver.stats() == counts


def test_the_counts_add_up_while_spans_and_scores_are_held_up(start: Start, stored: Store, url: str) -> None:
    """A locked store holds up both: each sum has parts of its own."""
    start()
    with sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        calls_with(Seen(), count=20)
        assert not tracehooks.flush(0.5)
        counts = tracehooks.stats()
        connection.execute("ROLLBACK")
    assert counts["pending_scores"] + total(counts) == counts["triggered"] == 20
    assert counts["exported"] + counts["dropped_spans"] + counts["pending_spans"] == counts["ended"] == 20
    assert counts["pending"] == counts["pending_spans"] + counts["pending_scores"] > 20
    assert tracehooks.flush(20)
    assert len(scores_of(stored)) == 20


def test_after_shutdown_init_begins_anew(start: Start, stored: Store) -> None:
    """Same store, same functions."""
    seen = Seen()
    for _ in range(2):
        start()
        calls_with(seen, count=3)
        assert tracehooks.shutdown(10)
    assert len(scores_of(stored)) == 6


def test_flush_waits_only_for_what_was_there(start: Start) -> None:
    """Calls that go on meanwhile do not hold it up."""
    start()
    stop = threading.Event()

    def on_and_on() -> None:
        while not stop.is_set():
            calls_with(Seen())
            time.sleep(0.001)

    thread = threading.Thread(target=on_and_on)
    thread.start()
    try:
        assert tracehooks.flush(20)
    finally:
        stop.set()
        thread.join()


def test_without_a_store_nothing_can_be_kept_and_that_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """Counted, with a line that says what to set."""
    with caplog.at_level(logging.WARNING, "tracehooks"):
        tracehooks.init({"store": ""})
        calls_with(Seen(), count=2)
        assert not tracehooks.flush(10)
    assert tracehooks.stats()["dropped_scores"] == {"store_failed": 2}
    assert "`store` is empty" in caplog.text
