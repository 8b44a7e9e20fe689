"""Batches across processes: submitted by one, collected by another, never submitted twice, whoever dies."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.fake_openai import Batches, FakeOpenAI, ToxicWords
from tests.stored import NOON, fill, mixed
from tracehooks.jobs.toxicity import ToxicityNight
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, open_store

ROOT = Path(__file__).parents[2]
CALLS = 12
EVENING = NOON.replace(hour=20)


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(ToxicWords(), batches=Batches()) as server:
        yield server


def _values(path: Path, server: FakeOpenAI) -> dict[str, Any]:
    judge = {"model": "m", "base_url": server.url, "api_key": "k", "concurrency": 2}
    job = {"settle": 0, "window": "all", "batch": "12h"}
    return {
        "project": "shop",
        "store": f"sqlite:///{path}/store.db",
        "judge": judge,
        "jobs": {"toxicity": job},
    }


def _prepare(path: Path, server: FakeOpenAI) -> Path:
    values = _values(path, server)
    with open_store(values["store"]) as store:
        fill(store, mixed(CALLS, 2))
    config = path / "tracehooks.yaml"
    config.write_text(json.dumps(values))
    return config


def _process(config: Path, hours: float, *more: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "tests.jobs.batch_process", str(config), str(hours), *more]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=300, check=False)
    return done.returncode, done.stdout.strip()


def _run(path: Path) -> RunRecord:
    with open_store(f"sqlite:///{path}/store.db") as store:
        (run,) = store.runs.list()
        return run


def _batches(server: FakeOpenAI) -> Batches:
    assert server.batches is not None
    return server.batches


def test_one_process_submits_and_another_collects(tmp_path: Path, server: FakeOpenAI) -> None:
    """Between the two nothing runs."""
    config = _prepare(tmp_path, server)
    assert _process(config, 0) == (0, "waiting")
    _batches(server).finish(ToxicWords())
    assert _process(config, 1) == (0, "finished")
    run = _run(tmp_path)
    assert (len(_batches(server).made), server.count) == (1, 1)
    assert (run.counts["scored"], run.report["batch"]["judged"], run.report["toxic"]) == (CALLS, CALLS - 1, 2)


def test_killed_between_making_and_remembering_there_is_one_batch(tmp_path: Path, server: FakeOpenAI) -> None:
    """kill -9 when the server has made the batch, and nobody else knows: it is found by its marks."""
    config = _prepare(tmp_path, server)
    assert _process(config, 0, "die-when", "made")[0] == -signal.SIGKILL
    assert len(_batches(server).made) == 1
    assert _process(config, 0) == (0, "waiting")
    _batches(server).finish(ToxicWords())
    assert _process(config, 1) == (0, "finished")
    assert (len(_batches(server).made), server.count) == (1, 1)
    assert _run(tmp_path).report["batch"]["judged"] == CALLS - 1


def test_killed_before_sending_it_is_sent_once_it_cannot_arrive_any_more(
    tmp_path: Path, server: FakeOpenAI
) -> None:
    """Nobody knows if the request was on its way: for a while it is looked for, and then sent again."""
    config = _prepare(tmp_path, server)
    assert _process(config, 0, "die-when", "sending")[0] == -signal.SIGKILL
    assert _process(config, 0.01) == (0, "waiting")
    assert not _batches(server).made
    assert _process(config, 0.1) == (0, "waiting")
    _batches(server).finish(ToxicWords())
    assert _process(config, 1) == (0, "finished")
    assert (len(_batches(server).made), server.count) == (1, 1)


def test_two_workers_make_one_batch_and_judge_each_call_once(tmp_path: Path, server: FakeOpenAI) -> None:
    """Begun at once over one window: one submits, and the other asks nobody meanwhile; so when collecting."""
    _prepare(tmp_path, server)
    settings = Settings.model_validate(_values(tmp_path, server))
    window = (NOON - timedelta(hours=1), EVENING)

    def both(hours: float) -> list[RunRecord]:
        runs: list[RunRecord] = []

        def work(owner: str) -> None:
            now = EVENING + timedelta(hours=hours)
            with open_store(settings.store) as store:
                night = ToxicityNight(settings=settings, store=store, clock=lambda: now, owner=owner)
                found = store.runs.of_window("toxicity", *window)
                runs.append(night.resume(found) if found and found.waiting else night.run(*window))

        threads = [threading.Thread(target=work, args=(owner,)) for owner in ("a:1:1", "b:1:1")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        return runs

    assert [run.waiting for run in both(0)] == [True, True]
    assert (len(_batches(server).made), server.count) == (1, 1)
    _batches(server).finish(ToxicWords())
    first, second = both(1)
    assert (first.state, second.state, first.counts["scored"]) == ("finished", "finished", CALLS)
    assert (len(_batches(server).made), server.count) == (1, 1)
