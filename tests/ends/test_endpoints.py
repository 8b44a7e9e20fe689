"""Ends with an endpoint that is dead, or hangs: the exit is not held up, and the scores wait in the store."""

import signal
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ends.listening import answering_port, closed_port, silent_port
from tests.ends.processes import Ended, everything, left, run, together, url_of
from tests.hooks.distribution import write_distribution
from tracehooks.store import open_store

CALL = "tracehooks.init()\nagent('q')\n"
SLEEP = "print('ready', flush=True)\ntime.sleep(60)\n"


@pytest.fixture(params=["dead", "hanging"])
def endpoint(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a process whose sink posts to it."""
    write_distribution(tmp_path / "site", "tracehooks.sinks", {"posting": "tests.ends.sinks:PostingSink"})
    if request.param == "dead":
        yield _environment(closed_port())
    else:
        with silent_port() as port:
            yield _environment(port)


def _environment(port: int) -> dict[str, str]:
    return {"SINK_PORT": str(port), "TRACEHOOKS_SINKS": "[posting]", "NO_PROXY": "127.0.0.1"}


def undelivered(folder: Path) -> int:
    with open_store(url_of(folder)) as store:
        return store.outbox.counts()["posting"]["pending"]


def test_the_exit_is_not_held_up(tmp_path: Path, endpoint: dict[str, str]) -> None:
    """open-telemetry/opentelemetry-python#3309, open-telemetry/opentelemetry-python#2024: its code, soon."""

    def exits(folder: Path, end: str) -> Ended:
        ended = run(folder, CALL + "print('last line', flush=True)\n" + end, more=endpoint)
        assert left(folder) == everything(1)
        assert undelivered(folder) == 3
        return ended

    codes = {"": 0, "sys.exit(3)": 3, "raise KeyError": 1}
    for end, ended in together(tmp_path, codes, exits):
        assert ended.code == codes[end], (end, ended.err)
        assert ended.seconds < 5, end
        assert len(ended.warnings) <= 1, end


def test_sigterm_is_not_held_up(tmp_path: Path, endpoint: dict[str, str]) -> None:
    """open-telemetry/opentelemetry-python#3309."""
    ended = run(tmp_path, CALL + SLEEP, kill=signal.SIGTERM, more=endpoint)
    assert ended.code == -signal.SIGTERM, ended.err
    assert ended.seconds < 5
    assert left(tmp_path) == everything(1)
    assert undelivered(tmp_path) == 3


def test_a_call_costs_no_more_for_it(tmp_path: Path, endpoint: dict[str, str]) -> None:
    """cognizant-ai-lab/neuro-san#1217, NousResearch/hermes-agent#87468: it is asked in the background."""
    body = """
    tracehooks.init()
    agent("warm")
    tracehooks.flush(1)
    taken = []
    for n in range(20):
        before = time.monotonic()
        agent(str(n))
        taken.append(time.monotonic() - before)
        time.sleep(0.01)
    assert sorted(taken)[15] < 0.5, sorted(taken)
    before = time.monotonic()
    assert not tracehooks.flush(0.5)
    assert time.monotonic() - before < 5
    print(tracehooks.stats()["undelivered"])
    """
    ended = run(tmp_path, body, more=endpoint)
    assert ended.code == 0, ended.err
    assert left(tmp_path) == everything(21)


def test_what_waited_is_delivered_by_a_later_process(tmp_path: Path) -> None:
    """langfuse/langfuse#3456: each score once, although it was tried before."""
    write_distribution(tmp_path / "site", "tracehooks.sinks", {"posting": "tests.ends.sinks:PostingSink"})
    run(tmp_path, CALL, more=_environment(closed_port()))
    assert undelivered(tmp_path) == 3
    with sqlite3.connect(tmp_path / "ends.db") as later:  # than the pause after the first attempt
        later.execute("UPDATE outbox SET next_attempt = 0")
    later.close()
    with answering_port() as (port, posted):
        body = CALL + "assert tracehooks.flush(10)\n"
        ended = run(tmp_path, body, more=_environment(port))
        assert (ended.code, ended.warnings) == (0, []), ended.err
    assert len({one["id"] for one in posted}) == len(posted) == 6


HUNG = """
import asyncio
from tracehooks import ScoringHook, traced

def hangs(call):
    threading.Event().wait()

async def blocks(call):
    threading.Event().wait()

async def waits(call):
    await asyncio.to_thread(threading.Event().wait)

@traced(hooks=[ScoringHook(hangs), ScoringHook(blocks), ScoringHook(waits), ScoringHook(length)])
def stuck(q):
    tracehooks.attach_score("thumbs", 1.0)
    return q

tracehooks.init()
stuck("q")
print("last line", flush=True)
"""


def test_scorers_that_hang_hold_up_no_end(tmp_path: Path) -> None:
    """Beyond the five seconds; what the others found is stored, and what is lost is told."""

    def ends(folder: Path, end: str) -> Ended:
        ended = run(folder, HUNG + end)
        assert left(folder) == {"calls": 1, "length": 1, "quality": 0, "thumbs": 1}
        return ended

    codes = {"": 0, "os.kill(os.getpid(), signal.SIGTERM)": -signal.SIGTERM}
    for end, ended in together(tmp_path, codes, ends):
        assert ended.code == codes[end], (end, ended.err)
        assert ended.seconds < 8, end
        told = [line for line in ended.warnings if "3 spans and scores were not finished in time" in line]
        assert told, ended.err


def test_a_long_judge_is_waited_for(tmp_path: Path) -> None:
    """What ends within the time is not lost at the exit: langfuse/langfuse-docs#1050."""
    body = """
    async def slow(call):
        await asyncio.sleep(1.5)
        return 1.0
    slow.__name__ = "quality"

    @traced(hooks=[ScoringHook(slow)])
    def agent(q):
        return q

    tracehooks.init()
    agent("q")
    """
    before = time.monotonic()
    ended = run(tmp_path, body)
    assert (ended.code, ended.warnings) == (0, []), ended.err
    assert time.monotonic() - before > 1.5
    assert left(tmp_path)["quality"] == 1
