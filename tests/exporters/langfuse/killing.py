"""Kills a night with delivery at drawn times, and lets it go on, until it is done.

``python -m tests.exporters.langfuse.killing [KILLS] [MODE]`` does it so often and tells what came of it.
"""

import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fake_langfuse import FakeLangfuse
from tests.stored import fill, mixed
from tracehooks.store import open_store

ROOT = Path(__file__).parents[3]
CALLS, RUDE = 160, 8
SETTINGS = """
project: shop
store: sqlite:///{folder}/store.db
langfuse: {{base_url: "{url}", public_key: {public}, secret_key: {secret}, confirm_after: 200ms}}
judge: {{concurrency: 4}}
jobs: {{toxicity: {{settle: 0, window: all, gate: {{max_rate: 0.2}}}}}}
"""
# of a score, what does not depend on when it was made
LASTING = (
    "id",
    "name",
    "value",
    "comment",
    "traceId",
    "observationId",
    "dataType",
    "environment",
    "timestamp",
)

Scores = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Outcome:
    """What the server shows in the end, how long the last process ran, and the outbox's counts."""

    scores: Scores
    seconds: float
    counts: dict[str, int]
    requests: int
    kills: int


def night(mode: str, kills: int, rng: random.Random, whole: float = 0.0) -> Outcome:
    """A night of CALLS calls at a server of ``mode``, killed ``kills`` times at most, each over ``whole`` s.

    A process that was not killed in time has done the night, and there is nothing left to kill.
    """
    with tempfile.TemporaryDirectory() as name, FakeLangfuse(mode, ingestion_delay=0.1) as server:
        config = _prepare(Path(name), server)
        done = 0
        for _ in range(kills):
            process = _start(config)
            time.sleep(rng.uniform(0, whole))
            process.send_signal(signal.SIGKILL)
            if process.wait(10) != -signal.SIGKILL:
                break
            done += 1
        begun = time.monotonic()
        assert _start(config).wait(120) == 0
        seconds = time.monotonic() - begun
        with open_store(f"sqlite:///{name}/store.db") as store:
            assert store.check() == []
            counts = store.outbox.counts()["langfuse"]
        return Outcome(_lasting(server), seconds, counts, len(server.requests), done)


def _lasting(server: FakeLangfuse) -> Scores:
    return sorted(tuple(row[key] for key in LASTING) for row in server.scores)


def _prepare(folder: Path, server: FakeLangfuse) -> Path:
    with open_store(f"sqlite:///{folder}/store.db") as store:
        fill(store, mixed(CALLS, RUDE))
    config = folder / "tracehooks.yaml"
    keys = {"url": server.url, "public": server.public_key, "secret": server.secret_key}
    config.write_text(SETTINGS.format(folder=folder, **keys))
    return config


def _start(config: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.exporters.langfuse.night_process", str(config)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)


def main(kills: str = "50", mode: str = "dual", seed: str = "7") -> None:
    """Night after night until so many kills are done; print whether each left the uninterrupted set."""
    rng, left, nights = random.Random(int(seed)), int(kills), 0
    whole = night(mode, 0, rng)
    while left > 0:
        killed = night(mode, left, rng, whole.seconds)
        same = killed.scores == whole.scores and killed.counts == {"confirmed": CALLS}
        left, nights = left - killed.kills, nights + 1
        said = "the same scores" if same else f"NOT the same scores, outbox {killed.counts}"
        print(f"{mode}: night {nights}, killed {killed.kills} times: {said} as uninterrupted", flush=True)
        if not same:
            sys.exit(1)
    print(f"{mode}: {kills} kills drawn over {whole.seconds:.1f} s each, in {nights} nights of {CALLS} calls")


if __name__ == "__main__":
    main(*sys.argv[1:])
