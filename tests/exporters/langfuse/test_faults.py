"""What goes wrong on the way: nothing is lost, nothing doubled, and the server's words are kept."""

import logging
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import orjson
import pytest

from tests.exporters.langfuse.desk import Desk, posts, shown, toxicity
from tests.fake_langfuse import FakeLangfuse
from tests.stored import trace_id
from tracehooks.exporters.langfuse.letters import Letter

DeskAt = Callable[..., Desk]
EVERYTHING = {trace_id(n): n / 1000 for n in range(120)}


def _full(desk: Desk) -> Desk:
    desk.commit([toxicity(n, n / 1000, f"because {n}") for n in range(120)])
    desk.sink.server.facts()
    return desk


def _path(desk: Desk) -> str:
    return "/api/public/scores" if desk.sink.server.facts().writes == "list" else "/api/public/ingestion"


def _all_arrive(desk: Desk) -> None:
    desk.deliver_all()
    assert desk.counts() == {"confirmed": 120}
    assert shown(desk.server) == EVERYTHING


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 503, "times": 5},
        {"status": 429, "retry_after": 0},
        {"reset": True},
        {"status": 502, "written": True, "body": "<html>bad gateway</html>"},
        {"drip": 0.001},
    ],
    ids=str,
)
def test_all_scores_survive(desk: Desk, fault: dict[str, Any]) -> None:
    """langfuse/langfuse#3456: busy, limited, broken off, answered by a proxy, slow: each is there once."""
    _full(desk)
    desk.server.fail(_path(desk), method="POST", **fault)
    _all_arrive(desk)


@pytest.mark.parametrize("fault", [{"reset": True, "written": True}, {"partial": 7}], ids=str)
def test_what_was_half_done_is_done_once(
    any_langfuse: FakeLangfuse, desk_at: DeskAt, fault: dict[str, Any]
) -> None:
    """Written, but the answer was lost; or taken in part, by whichever API."""
    desk = _full(desk_at(any_langfuse))
    any_langfuse.fail(_path(desk), method="POST", **fault)
    _all_arrive(desk)


def test_a_status_that_is_no_number_holds_up_no_other_event(desk: Desk) -> None:
    """A server that answers one event of a batch oddly is asked again for that one; the others are done."""
    desk.commit([toxicity(1, 0.1), toxicity(2, 0.2)])
    known, odd = desk.store.outbox.rows("pending", "langfuse", 10, "nobody", timedelta(0))
    said = {
        "successes": [{"id": f"{known.id}-1", "status": 201}],
        "errors": [{"id": f"{odd.id}-1", "status": "later", "message": "shard moves"}],
    }
    assert _path(desk) == "/api/public/ingestion"
    desk.server.fail(_path(desk), status=207, body=said)
    desk.deliver()
    assert desk.counts() == {"accepted": 1, "pending": 1}
    assert [error for _, _, error, _ in desk.store.outbox.troubles()] == ["later shard moves: "]
    desk.deliver_all()
    assert desk.counts() == {"confirmed": 2}


@pytest.mark.parametrize("as_date", [False, True])
def test_a_server_that_asks_to_wait_is_left_alone(desk: Desk, as_date: bool) -> None:
    """ProjectTech4DevAI/kaapi-backend#873: ``Retry-After`` of 2 s, as a number or a date, is two seconds."""
    _full(desk)
    desk.server.fail(_path(desk), method="POST", status=429, retry_after=2, as_date=as_date)
    begun = time.monotonic()
    desk.deliver()
    assert time.monotonic() - begun >= 1.0  # a date has whole seconds
    assert desk.counts() == {"accepted": 120}
    _all_arrive(desk)


def test_a_long_wait_is_told_to_the_outbox(desk: Desk) -> None:
    """Asked to stay away for an hour, nobody sleeps that long: the rows are due then, the words kept."""
    _full(desk)
    desk.server.fail(_path(desk), method="POST", status=429, retry_after=3000, body={"message": "slow down"})
    assert not desk.deliver()
    sent = len(posts(desk.server))
    desk.clock.pass_(seconds=2900)
    desk.deliver()
    assert len(posts(desk.server)) == sent
    assert desk.counts() == {"pending": 120}
    assert any("slow down" in error for _, _, error, _ in desk.store.outbox.troubles())
    assert desk.store.outbox.wait("langfuse", "pending") == pytest.approx(100, abs=60)


def test_an_outage_of_any_length_ends_in_delivery(any_langfuse: FakeLangfuse, desk_at: DeskAt) -> None:
    """The server is down for three days; what was scored meanwhile waits, and then is there once."""
    desk = desk_at(any_langfuse)
    desk.commit([toxicity(n, n / 1000) for n in range(120)])
    any_langfuse.down()
    for _ in range(3):
        desk.deliver()
        desk.clock.pass_(days=1)
        assert desk.counts() == {"pending": 120}
    any_langfuse.up()
    _all_arrive(desk)


def test_a_server_that_hangs_costs_one_timeout(langfuse: FakeLangfuse, desk_at: DeskAt) -> None:
    """It is asked again later, and nobody waits for ever."""
    desk = desk_at(langfuse)
    desk.sink._client._timeout = 0.3
    _full(desk)
    langfuse.fail(_path(desk), method="POST", hang=True, times=None)
    begun = time.monotonic()
    assert not desk.deliver()
    assert time.monotonic() - begun < 10
    langfuse.clear()
    _all_arrive(desk)


def test_too_large_a_batch_is_halved_on_fresh_connections(
    any_langfuse: FakeLangfuse, desk_at: DeskAt
) -> None:
    """langfuse/langfuse#1676: after a 413 the server breaks the connection; the next request has another."""
    desk = _full(desk_at(any_langfuse))
    any_langfuse.fail(_path(desk), method="POST", status=413, times=3, body="Body exceeded 4.5mb limit")
    _all_arrive(desk)


def test_what_is_always_too_large_is_dead_and_can_be_revived(desk: Desk) -> None:
    """Halved down to single scores, it is given up; once the cause is mended, it can be sent again."""
    _full(desk)
    desk.server.fail(_path(desk), method="POST", status=413, times=None, body="Body exceeded 4.5mb limit")
    desk.deliver_all()
    assert desk.counts() == {"dead": 120}
    desk.server.clear()
    assert desk.store.outbox.revive("langfuse") == 120
    _all_arrive(desk)


def test_a_refused_score_takes_no_other_along(any_langfuse: FakeLangfuse, desk_at: DeskAt) -> None:
    """One among a hundred that the server refuses is dead with its words; the others arrive."""
    sink = desk_at(any_langfuse).sink
    bodies: list[dict[str, Any]] = [
        {"id": f"s{n}", "traceId": trace_id(n), "name": "" if n == 31 else "toxicity", "value": 0.5}
        for n in range(100)
    ]
    letters = [
        Letter(body["id"], orjson.dumps(body), "2026-11-30T12:00:00.001Z", f"{body['id']}-1")
        for body in bodies
    ]
    receipts = {receipt.id: receipt for receipt in sink._writer.write(letters)}
    refused = [receipt for receipt in receipts.values() if not receipt.accepted]
    assert [receipt.id for receipt in refused] == ["s31"]
    assert not refused[0].retry
    assert refused[0].error
    assert len(shown(any_langfuse)) == 99


def test_wrong_keys_are_told_and_nothing_is_given_up(langfuse: FakeLangfuse, desk_at: DeskAt) -> None:
    """A key that was changed in Langfuse stops delivery; once it is right here, all is delivered."""
    desk = desk_at(langfuse, langfuse={"secret_key": "sk-old"})
    desk.commit([toxicity(n, n / 1000, f"because {n}") for n in range(120)])
    assert not desk.deliver()
    assert desk.counts() == {"pending": 120}
    ((_, _, error, _),) = desk.store.outbox.troubles()
    assert "keys" in error
    assert "sk-old" not in error
    desk.sink.close()
    desk.sink = desk_at(langfuse).sink
    _all_arrive(desk)


@pytest.mark.parametrize(
    ("before", "after"),
    [("v3", "dual"), ("v3", "v4.59"), ("dual", "events"), ("events", "v4.59"), ("v4.59", "dual")],
)
def test_an_upgrade_is_found_out(desk_at: DeskAt, before: str, after: str) -> None:
    """The server becomes another one between two nights, or is restored; the sink asks what it is now."""
    with FakeLangfuse(before) as server:
        desk = _full(desk_at(server))
        desk.deliver_all()
        server.upgrade(after)
        desk.clock.pass_(days=1)
        desk.commit([toxicity(n, n / 1000 + 1, "anew") for n in range(120)], rescore=True)
        desk.deliver_all()
        assert desk.counts() == {"confirmed": 120}
        assert shown(server) == {trace: value + 1 for trace, value in EVERYTHING.items()}


def test_a_failing_sink_is_one_line_in_the_log(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """No traceback, and no key in it."""
    _full(desk)
    desk.server.down()
    with caplog.at_level(logging.WARNING, logger="tracehooks"):
        desk.deliver()
    assert len(caplog.records) == 1
    assert desk.server.secret_key not in caplog.text
