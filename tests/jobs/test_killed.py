"""kill -9 at any moment of a night, then resume: the same scores, and hardly a judge call more."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fake_openai import FakeOpenAI, ToxicWords
from tests.stored import fill, mixed, trace_id
from tracehooks.store import RunRecord, open_store

ITEMS, CONCURRENCY, DELAY = 80, 4, 0.05
ROOT = Path(__file__).parents[2]
CONFIG = """
project: shop
store: sqlite:///{path}/store.db
judge: {{model: judge-2026, base_url: "{url}", api_key: key, concurrency: {concurrency}}}
jobs: {{toxicity: {{settle: 0, window: all, gate: {{max_rate: 0.2}}}}}}
"""

Rows = dict[str, tuple[object, ...]]


def _prepare(path: Path, url: str) -> Path:
    path.mkdir(exist_ok=True)
    with open_store(f"sqlite:///{path}/store.db") as store:
        fill(store, mixed(ITEMS, 5))
    config = path / "tracehooks.yaml"
    config.write_text(CONFIG.format(path=path, url=url, concurrency=CONCURRENCY))
    return config


def _start(config: Path, *words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.jobs.night_process", str(config), *words]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)


def _scores(path: Path) -> tuple[Rows, RunRecord]:
    with open_store(f"sqlite:///{path}/store.db") as store:
        assert store.check() == []
        rows: Rows = {}
        for n in range(ITEMS):
            for score in store.scores.of_trace(trace_id(n)):
                rows[score.id] = (score.status, score.value, score.comment, score.revision, score.call_start)
        run = store.runs.latest("toxicity")
        assert run is not None
        assert len(store.runs.list()) == 1
        return rows, run


def _finish(config: Path) -> None:
    assert _start(config, "resume").wait(60) == 0


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Rows, RunRecord, float]:
    path = tmp_path_factory.mktemp("whole")
    with FakeOpenAI(ToxicWords(delay=DELAY)) as server:
        config = _prepare(path, server.url)
        began = time.monotonic()
        assert _start(config, "run").wait(60) == 0
        seconds = time.monotonic() - began
        assert server.count == ITEMS
    return *_scores(path), seconds


def _same(path: Path, uninterrupted: tuple[Rows, RunRecord, float]) -> None:
    rows, run = _scores(path)
    wanted, wanted_run, _ = uninterrupted
    assert rows == wanted
    assert (run.verdict, run.counts) == (wanted_run.verdict, wanted_run.counts)
    assert run.report["rate"] == wanted_run.report["rate"]


def test_killed_at_random_times_and_resumed_the_night_is_the_same(
    tmp_path: Path, uninterrupted: tuple[Rows, RunRecord, float]
) -> None:
    """Eight kills, drawn uniformly over an uninterrupted run; the seed is printed."""
    seed = int.from_bytes(os.urandom(4), "big")
    print(f"seed {seed}")
    rng = random.Random(seed)
    in_flight = 0
    with FakeOpenAI(ToxicWords(delay=DELAY)) as server:
        config = _prepare(tmp_path, server.url)
        for _ in range(8):
            process = _start(config, "resume")
            time.sleep(rng.uniform(0, uninterrupted[2]))
            # answers on their way and answers not yet committed: the slots that the night may hold
            in_flight += CONCURRENCY if server.count else 0
            process.send_signal(signal.SIGKILL)
            process.wait(10)
        _finish(config)
        calls = server.count
    _same(tmp_path, uninterrupted)
    assert ITEMS <= calls <= ITEMS + in_flight


@pytest.mark.parametrize("answers", [1, ITEMS])
def test_killed_between_answer_and_commit_only_those_answers_are_asked_again(
    tmp_path: Path, uninterrupted: tuple[Rows, RunRecord, float], answers: int
) -> None:
    """The worst moment: paid for, not yet stored."""
    with FakeOpenAI(ToxicWords(delay=DELAY)) as server:
        config = _prepare(tmp_path, server.url)
        assert _start(config, "run", "kill-at", str(answers)).wait(60) == -signal.SIGKILL
        _finish(config)
        calls = server.count
    _same(tmp_path, uninterrupted)
    assert ITEMS < calls <= ITEMS + CONCURRENCY
