"""Accepted is not there yet: a score is confirmed when value and comment were read back equal."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.exporters.langfuse.desk import MODES, Desk, posts, settings, shown, toxicity
from tests.fake_langfuse import FakeLangfuse
from tests.stored import trace_id
from tracehooks.exporters.langfuse.sink import LangfuseSink
from tracehooks.scoring import Deliverer
from tracehooks.store import ScoreRecord, open_store

DeskAt = Callable[..., Desk]


@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_confirmed_before_it_can_be_seen(mode: str, desk_at: DeskAt) -> None:
    """The server takes half a minute; the outbox looks again and again, and sends nothing twice."""
    with FakeLangfuse(mode, ingestion_delay=30) as server:
        desk = desk_at(server)
        desk.commit([toxicity(n, 0.5) for n in range(5)])
        desk.deliver()
        sent = len(posts(server))
        for seconds in (8, 6, 11):
            desk.clock.pass_(seconds=seconds)
            desk.deliver()
            assert desk.counts() == {"accepted": 5}
        server.advance(31)
        desk.clock.pass_(seconds=60)
        desk.deliver()
        assert desk.counts() == {"confirmed": 5}
        assert len(posts(server)) == sent


def test_a_score_that_the_worker_drops_is_not_called_delivered(
    langfuse: FakeLangfuse, desk_at: DeskAt
) -> None:
    """200, and then thrown away for its config: sent again with the config known, then dead with a reason."""
    desk = desk_at(langfuse)
    desk.commit([toxicity(1, 0.5), toxicity(2, 5.0)])
    desk.sink.configs.named("toxicity")  # remembered: the project has none
    maker = desk_at(langfuse)
    maker.sink.configs.create("toxicity", dataType="NUMERIC", minValue=0, maxValue=1)
    desk.deliver_all()
    assert shown(langfuse)[trace_id(1)] == 0.5
    desk.sink.configs.forget()
    desk.commit([toxicity(3, 5.0)])
    desk.deliver_all()
    assert desk.counts()["dead"] == 1
    assert trace_id(3) not in shown(langfuse)


@pytest.mark.parametrize("mode", ["dual", "events"])
def test_a_write_that_lost_is_found_out_and_made_to_win(mode: str, desk_at: DeskAt) -> None:
    """Somebody wrote the same score with a later time: the older envelope changes nothing, silently."""
    with FakeLangfuse(mode) as server:
        desk, intruder = desk_at(server), desk_at(server)
        desk.commit([toxicity(1, 0.2, "ours")])
        (score,) = desk.store.scores.of_trace(trace_id(1))
        body = {"id": score.id, "traceId": trace_id(1), "name": "toxicity", "value": 0.9, "comment": "theirs"}
        intruder.sink._client.post("/scores", body)
        assert shown(server) == {trace_id(1): 0.9}
        desk.deliver_all()
        assert desk.counts() == {"confirmed": 1}
        assert shown(server) == {trace_id(1): 0.2}


def test_a_score_that_is_never_seen_is_dead_in_the_end(desk: Desk) -> None:
    """Taken every time and never to be found: not for ever, and not without a word."""
    desk.server.delays(ingestion=1e9)
    desk.commit([toxicity(1, 0.5)])
    for _ in range(60):
        desk.deliver()
        desk.clock.pass_(seconds=700)
    assert desk.counts() == {"dead": 1}
    ((_, _, error, _),) = desk.store.outbox.troubles()
    assert "not there when read back" in error


def test_a_server_that_cannot_be_read_leaves_scores_accepted(desk: Desk) -> None:
    """Reading back fails; it is tried later, and nothing is sent again for it."""
    desk.commit([toxicity(1, 0.5)])
    desk.deliver()
    sent = len(posts(desk.server))
    desk.server.fail("/api/public/v3/scores", status=500, times=3)
    desk.clock.pass_(seconds=8)
    desk.deliver()
    assert desk.counts() == {"accepted": 1}
    desk.clock.pass_(seconds=61)
    desk.deliver()
    assert desk.counts() == {"confirmed": 1}
    assert len(posts(desk.server)) == sent


def test_waiting_for_confirmation_ends_with_it(langfuse: FakeLangfuse, tmp_path: Path) -> None:
    """A night that waits to see its scores waits no longer than they take."""
    sink = LangfuseSink.from_settings(settings(langfuse, langfuse={"confirm_after": "200ms"}))
    with open_store(f"sqlite:///{tmp_path}/store.db") as store:
        records = [ScoreRecord(score=toxicity(n, 0.5)) for n in range(5)]
        store.scores.commit(records, project="shop", sinks=["langfuse"])
        deliverer = Deliverer(store, {"langfuse": sink}, owner="me")
        assert deliverer.deliver(10)
        assert deliverer.confirm(10)
        assert store.outbox.counts() == {"langfuse": {"confirmed": 5}}
    sink.close()
