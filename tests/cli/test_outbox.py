"""``tracehooks outbox``: what waits, why, and sending it now."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.shop import Inside, Shop, command, environment
from tests.fake_langfuse import FakeLangfuse
from tests.stored import agent_span, span_id, trace_id
from tracehooks.records import Score, TraceRef
from tracehooks.scoring.coordinator import this_owner
from tracehooks.store import ScoreRecord
from tracehooks.store.unsent import Unsent

SETTINGS = """
project: shop
store: sqlite:///{folder}/store.db
langfuse: {{base_url: "{url}", public_key: {public}, secret_key: {secret}, confirm_after: 200ms}}
"""


@pytest.fixture
def langfuse() -> Iterator[FakeLangfuse]:
    with FakeLangfuse() as server:
        yield server


def shop_with(folder: Path, server: FakeLangfuse, count: int) -> Shop:
    """A folder whose store has so many scores on their way to ``server``."""
    keys = {"url": server.url, "public": server.public_key, "secret": server.secret_key}
    (folder / "tracehooks.yaml").write_text(SETTINGS.format(folder=folder, **keys))
    shop = Shop(folder)
    scores = [
        Score.scored("toxicity", n / 1000, target=TraceRef(trace_id(n), span_id(n))) for n in range(count)
    ]
    with shop.store() as store:
        records = [ScoreRecord(score=score) for score in scores]
        store.scores.commit(records, project="shop", sinks=["langfuse"])
    return shop


def test_status_counts_and_flush_delivers(langfuse: FakeLangfuse, tmp_path: Path, inside: Inside) -> None:
    """Waiting is 3; flushed and confirmed is 0; a second flush sends nothing."""
    shop = shop_with(tmp_path, langfuse, 120)
    waiting = inside(shop, "outbox", "status", "--json")
    assert waiting.code == 3
    assert waiting.json["outbox"]["langfuse"] == {
        "pending": 120,
        "accepted": 0,
        "confirmed": 0,
        "dead": 0,
    }
    flushed = inside(shop, "outbox", "flush", "--timeout", "20s", "--json")
    assert (flushed.code, flushed.json["outbox"]["langfuse"]["confirmed"]) == (0, 120)
    assert len(langfuse.scores) == 120
    sent = len(langfuse.requests)
    assert inside(shop, "outbox", "flush").code == 0
    assert len(langfuse.requests) == sent


def test_flush_waits_for_a_server_that_comes_back(langfuse: FakeLangfuse, tmp_path: Path) -> None:
    """Down for some seconds of the timeout: all is delivered in one call."""
    shop = shop_with(tmp_path, langfuse, 5)
    langfuse.down(3)
    done = shop.tracehooks("outbox", "flush", "--timeout", "60s")
    assert done.returncode == 0, done.stderr
    assert len(langfuse.scores) == 5


def test_flush_ends_in_time_and_says_what_waits(
    langfuse: FakeLangfuse, tmp_path: Path, inside: Inside
) -> None:
    """With the reason, and without a key or a traceback."""
    shop = shop_with(tmp_path, langfuse, 5)
    langfuse.down()
    begun = time.monotonic()
    done = inside(shop, "outbox", "flush", "--timeout", "2s")
    assert time.monotonic() - begun < 20
    assert done.code == 3
    assert "gives no answer" in done.out
    assert "Traceback" not in done.out + done.err
    assert langfuse.secret_key not in done.out + done.err


def test_the_dead_are_told_and_sent_again_when_asked(
    langfuse: FakeLangfuse, tmp_path: Path, inside: Inside
) -> None:
    """Refused for good is 1, with the server's words; once mended, --dead sends them."""
    shop = shop_with(tmp_path, langfuse, 3)
    langfuse.fail("/api/public/ingestion", method="POST", status=413, times=None, after=1, body="too big")
    dead = inside(shop, "outbox", "flush", "--timeout", "20s")
    assert dead.code == 1
    assert "too big" in dead.out
    assert "--dead" in dead.out
    langfuse.clear()
    assert inside(shop, "outbox", "flush", "--timeout", "5s").code == 1
    assert inside(shop, "outbox", "flush", "--dead", "--timeout", "20s").code == 0
    assert len(langfuse.scores) == 3


def test_an_empty_outbox_is_no_error(tmp_path: Path, inside: Inside) -> None:
    """Nothing was ever sent anywhere, and a sentence says what would be."""
    shop = Shop.at(tmp_path)
    assert inside(shop, "outbox", "status").code == 0
    assert inside(shop, "outbox", "status", "--json").json["outbox"] == {}
    assert inside(shop, "outbox", "flush").code == 0


def test_scores_that_stay_here_are_explained(langfuse: FakeLangfuse, tmp_path: Path, inside: Inside) -> None:
    """After a pre-screen's night: the setting that keeps them, and what changes that."""
    shop = shop_with(tmp_path, langfuse, 0)
    assert "prescreen" not in inside(shop, "outbox", "status").out
    target = TraceRef(trace_id(1), span_id(1))
    record = ScoreRecord(score=Score.scored("toxicity_prescreen", 0.5, target=target))
    with shop.store() as store:
        names = {"langfuse": ["toxicity_prescreen"]}
        store.scores.commit([record], project="shop", sinks=["langfuse"], unwanted=names)
    told = inside(shop, "outbox", "status")
    assert told.code == 0
    words = " ".join(told.out.split())
    assert "No score was committed for langfuse yet." in words
    assert "Scores named toxicity_prescreen stay in the store: `langfuse.prescreen` is false" in words
    assert "Set it to true" in words
    assert len(inside(shop, "outbox", "status", "--json").json["kept"]) == 1
    file = tmp_path / "tracehooks.yaml"
    file.write_text(file.read_text().replace("confirm_after: 200ms", "confirm_after: 200ms, prescreen: true"))
    assert "stay in the store" not in inside(shop, "outbox", "status").out


def test_spans_that_wait_are_shown_with_what_was_said(
    langfuse: FakeLangfuse, tmp_path: Path, inside: Inside
) -> None:
    """How many, since when, the server's words, what was given up; a running process's newest are fine."""
    shop = shop_with(tmp_path, langfuse, 0)

    def left(numbers: range, owner: str) -> list[tuple[str, str]]:
        spans = [agent_span(n) for n in numbers]
        waiting = [Unsent("langfuse", span.trace_id, span.span_id) for span in spans]
        with shop.store() as store:
            store.spans.add(spans, lambda: waiting, owner)
        return [one.place for one in waiting]

    left(range(2), this_owner())
    running = inside(shop, "outbox", "status", "--json")
    told = running.json["spans"]["langfuse"]
    assert (running.code, told["waiting"], told["on_their_way"]) == (0, 2, 2)
    places = left(range(2, 6), "elsewhere:1:1")
    with shop.store() as store:
        store.unsent.put_back("langfuse", places, "503 maintenance")
        store.unsent.give_up("langfuse", places[:1], "too many waited")
    stuck = inside(shop, "outbox", "status")
    assert stuck.code == 3
    (row,) = [line.split() for line in stuck.out.splitlines() if line.startswith("langfuse")]
    assert (row[1], row[-2:]) == ("5", ["0", "1"])
    assert "spans for langfuse: 503 maintenance" in stuck.out
    assert "1 span will never be at langfuse: too many waited" in stuck.out
    assert "tracehooks outbox flush" in stuck.out
    flushed = inside(shop, "outbox", "flush", "--timeout", "20s")
    assert flushed.code == 0, flushed
    assert len(langfuse.observations) == 3


def test_a_bad_timeout_is_a_usage_error(tmp_path: Path, inside: Inside) -> None:
    """One sentence that names the option."""
    done = inside(Shop.at(tmp_path), "outbox", "flush", "--timeout", "soon")
    assert done.code == 2
    assert "--timeout" in done.err


def test_an_interrupted_flush_loses_nothing(langfuse: FakeLangfuse, tmp_path: Path) -> None:
    """Ctrl-C while the server hangs: 130, and the next flush delivers all, each once."""
    shop = shop_with(tmp_path, langfuse, 120)
    langfuse.fail("/api/public/ingestion", method="POST", hang=True, times=None, after=1)
    process = subprocess.Popen(
        command("outbox", "flush"), cwd=tmp_path, env=environment(), stderr=subprocess.PIPE
    )
    _until_hanging(langfuse)
    os.kill(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in error
    langfuse.clear()
    assert shop.tracehooks("outbox", "flush").returncode == 0
    assert len(langfuse.scores) == 120


def _until_hanging(server: FakeLangfuse) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if any(request.path == "/api/public/score-configs" for request in server.requests):
            time.sleep(0.3)
            return
        time.sleep(0.05)
    raise AssertionError("the flush has not begun")


def test_doctor_looks_at_langfuse_and_mends(langfuse: FakeLangfuse, tmp_path: Path, inside: Inside) -> None:
    """Findings with remedies; --fix makes the score configs; a wrong public key is bad."""
    shop = shop_with(tmp_path, langfuse, 0)
    found = inside(shop, "doctor", "--json").json["findings"]
    assert any(one["about"] == "round trip" and one["grade"] == "ok" for one in found)
    offers = [one for one in found if one["about"] == "score config" and one["grade"] == "note"]
    assert offers
    mended = inside(shop, "doctor", "--fix", "--json").json["findings"]
    assert {one["grade"] for one in mended if one["about"] == "score config"} == {"ok"}
    settings = tmp_path / "tracehooks.yaml"
    settings.write_text(settings.read_text().replace(langfuse.public_key, "pk-mistyped"))
    wrong = inside(shop, "doctor")
    assert wrong.code == 2
    assert "public key" in wrong.out
