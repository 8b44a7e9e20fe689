"""Many processes at one night, killed at drawn times and replaced: what the night cost, and how it ended."""

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.cli.shop import YESTERDAY
from tests.fake_openai import FakeOpenAI, ToxicWords
from tests.stored import fill, mixed, trace_id
from tracehooks.store import RunRecord, open_store
from tracehooks.store.firings import Firing

ROOT = Path(__file__).parents[2]
CONCURRENCY = 3
CONFIG = """
project: shop
store: "{url}"
judge: {{model: judge-2026, base_url: "{judge}", api_key: key, concurrency: {concurrency}}}
jobs:
  toxicity:
    schedule: every {period}s
    settle: 0
    max_window: 1000d
    sample: {{size: 100000}}
    gate: {{max_rate: 0.5}}
"""


@dataclass
class Outcome:
    """What is there afterwards. ``scores`` counts results by call."""

    runs: list[RunRecord]
    calls: int
    kills: int
    scores: list[int]
    firings: list[Firing]


def swarm(
    folder: Path, url: str, *, items: int, kinds: list[str], kills: int, delay: float, seed: int
) -> Outcome:
    """Let processes of ``kinds`` work on one night of ``items`` calls; ``kills`` of them die on the way.

    The times are drawn uniformly over about as long as the night takes.
    """
    rng = random.Random(seed)
    with open_store(url) as store, FakeOpenAI(ToxicWords(delay=delay), keep=False) as judge:
        fill(store, mixed(items, items // 20), start=YESTERDAY)
        before = datetime.now(UTC) - timedelta(hours=2)
        period = int(time.time()) - 60  # since 1970: due a minute ago, and again in half a century
        store.firings.note([Firing(job="toxicity", slot="before", due=before, state="done", noted_at=before)])
        config = folder / "tracehooks.yaml"
        config.write_text(CONFIG.format(url=url, judge=judge.url, concurrency=CONCURRENCY, period=period))
        processes = [(kind, _start(config, kind)) for kind in kinds]
        while judge.count == 0:
            time.sleep(0.05)
        takes = items * delay / (CONCURRENCY * len(kinds))
        times = sorted(rng.uniform(0, takes) for _ in range(kills))
        began = time.monotonic()
        killed = 0
        for moment in times:
            time.sleep(max(0.0, moment - (time.monotonic() - began)))
            index = rng.randrange(len(processes))
            kind, process = processes[index]
            killed += process.poll() is None
            process.send_signal(signal.SIGKILL)
            process.wait()
            processes[index] = kind, _start(config, kind)
        try:
            for _, process in processes:
                assert process.wait(200) == 0
        finally:
            for _, process in processes:
                process.kill()
        scores = [len(store.scores.of_trace(trace_id(n))) for n in range(items)]
        entries = [store.scores.of_trace(trace_id(n))[0].entries for n in range(items)]
        assert max(entries) == 1
        firings = list(store.firings.list("toxicity"))
        return Outcome(list(store.runs.list()), judge.count, killed, scores, firings)


def _start(config: Path, kind: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "tests.jobs.swarm_process", str(config), kind]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)


def drawn_seed() -> int:
    """A seed, printed so that a failure can be had again."""
    seed = int.from_bytes(os.urandom(4), "big")
    print(f"seed {seed}")
    return seed
