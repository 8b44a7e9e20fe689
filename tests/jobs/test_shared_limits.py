"""What judges may be asked is one allowance for all processes on a store, on SQLite and on Postgres."""

import itertools
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fake_openai import HANG, FakeOpenAI, Reply, chat, slow
from tests.fake_openai import status as refusal

ROOT = Path(__file__).parents[2]
ANSWER = chat({})
PATIENCE = 120.0  # seconds, on a machine that has much else to do


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """An empty store, on each database in turn."""
    found: str = request.getfixturevalue(f"{request.param}_url")
    return found


@contextmanager
def senders(
    folder: Path, url: str, server: FakeOpenAI, names: str, count: int, **judge: Any
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """A process for each of ``names`` that asks so often, all at once; none of them outlives the context."""
    config = folder / "tracehooks.yaml"
    known = {"model": "m", "base_url": server.url, "api_key": "k", **judge}
    config.write_text(json.dumps({"store": url, "judge": known}))
    command = [sys.executable, "-m", "tests.jobs.sender_process", str(config)]
    started = [subprocess.Popen([*command, name, str(count)], cwd=ROOT) for name in names]
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()


def until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"not within {PATIENCE:g} s: {what}"
        time.sleep(0.02)


def asked_by(body: dict[str, Any], name: str) -> bool:
    return f"sender-{name}" in json.dumps(body)


def test_no_more_requests_at_once_than_one_process_may_have(tmp_path: Path, url: str) -> None:
    """Three processes want six places each; together they never have more than six, and all get answers."""
    with (
        FakeOpenAI(lambda body: slow(ANSWER, delay=0.05)) as server,
        senders(tmp_path, url, server, "abc", 20, concurrency=6) as started,
    ):
        assert [process.wait(PATIENCE) for process in started] == [0, 0, 0]
        assert server.peak <= 6
        assert server.count == 60
        for name in "abc":
            assert _from(server, name) == 20


def test_no_more_requests_a_minute_than_one_process_may_send(tmp_path: Path, url: str) -> None:
    """Forty requests of two processes at ten a second take as long as those of one."""
    with (
        FakeOpenAI(lambda body: ANSWER) as server,
        senders(tmp_path, url, server, "ab", 20, requests_per_minute=600) as started,
    ):
        assert [process.wait(PATIENCE) for process in started] == [0, 0]
        times = sorted(request.time for request in server.requests)
    assert len(times) == 40
    assert times[-1] - times[0] >= 2.9  # 3.8 s; each for itself would have needed two


def test_the_share_of_a_killed_process_comes_back(tmp_path: Path, url: str) -> None:
    """One has all four places and hangs; nobody else gets one until it is killed, and then all four."""
    with (
        FakeOpenAI(lambda body: HANG) as server,
        senders(tmp_path, url, server, "a", 4, concurrency=4, timeout=600) as (first,),
    ):
        until(lambda: server.in_flight == 4, "the first has all places")
        with senders(tmp_path, url, server, "b", 4, concurrency=4, timeout=600):
            first.kill()
            until(lambda: _from(server, "b") == 4, "the second has all places")
            assert server.peak <= 4


def test_a_429_for_one_slows_the_others(tmp_path: Path, url: str) -> None:
    """One is told to wait four seconds: the other, which hears of it from the store, pauses too."""
    told: list[float] = []

    def answer(body: dict[str, Any]) -> Reply:
        if asked_by(body, "a") and not told:
            told.append(time.time())
            return refusal(429, "rate_limit_exceeded", retry_after="4")
        return slow(ANSWER, delay=0.3)

    with (
        FakeOpenAI(answer) as server,
        senders(tmp_path, url, server, "b", 5000, concurrency=8),  # at work until it is killed
    ):
        until(lambda: _from(server, "b") > 20, "the other is at work")
        with senders(tmp_path, url, server, "a", 4, concurrency=8) as (one,):
            assert one.wait(PATIENCE) == 0
        asked = _from(server, "b")
        until(lambda: _from(server, "b") > asked, "the other goes on")
        times = [request.time for request in server.requests if asked_by(request.body, "b")]
    pauses = [after - before for before, after in itertools.pairwise(times) if after > told[0]]
    assert max(pauses) >= 1.5  # nobody told it itself to pause


def _from(server: FakeOpenAI, name: str) -> int:
    return sum(asked_by(request.body, name) for request in server.requests)
