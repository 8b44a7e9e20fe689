"""Scores to a Langfuse-shaped server: what they cost and what an outage costs, ours and the SDK's.

    python -m benchmarks.langfuse_scores [--scores 10000] [--outage 30]

Three ways bring the same scores to a stand-in for Langfuse 4.59 (whose lists the SDK needs), each in a
process of its own: from the outbox, by the SDK's ``create_score``, and as bytes that were made before, posted
with httpx in lists of a hundred. Then two of them bring ten scores a second through an outage, and what is
there afterwards is counted.
"""

import argparse
import contextlib
import json
import logging
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from benchmarks.outbox import BATCH, COMMENT, KEYS, START, server
from benchmarks.root import ROOT
from tracehooks.protocols import ScoreRow
from tracehooks.records import Score, TraceRef

MODE = ("--mode", "v4.59")
RATE = 10.0  # scores a second during the outage
BEFORE = 3.0  # seconds until it begins
PATIENCE = 120.0  # seconds after it, for what waits


def main() -> int:
    """Print the figures; 0 whatever they are."""
    options = _parser().parse_args()
    if options.way:
        result = WAYS[options.way](options.url, options.scores, options.seconds)
        print(json.dumps(result))
        return 0
    costs = {way: _cost(way, options.scores) for way in ("by_hand", "tracehooks", "sdk")}
    for way, cost in costs.items():
        ratio = cost["cpu"] / costs["by_hand"]["cpu"]
        micros = cost["cpu"] / options.scores * 1e6
        arrived = f"{cost['there']:,} of {options.scores:,} there"
        print(f"{way:12} {micros:7.1f} µs CPU a score, {ratio:5.2f} of by_hand; {arrived}")
    for way in ("tracehooks", "sdk"):
        sent, there = _outage(way, options.outage)
        print(
            f"{way:12} {options.outage:.0f} s outage: {sent} scores made, {there} there, {sent - there} lost"
        )
    return 0


def _cost(way: str, count: int) -> dict[str, Any]:
    with server(*MODE) as url:
        said = _run(way, url, count, 0.0)
        return {**said, "there": _there(url)}


def _outage(way: str, seconds: float) -> tuple[int, int]:
    count = int((BEFORE * 2 + seconds) * RATE)
    with server(*MODE) as url, _started(way, url, count, count / RATE) as process:
        time.sleep(BEFORE + 2)  # two for its imports
        control = {"call": "down", "arguments": {"seconds": seconds}}
        with contextlib.suppress(httpx.HTTPError):  # it breaks this connection too
            httpx.post(f"{url}/_control", json=control, timeout=60)
        process.wait()
        return count, _there(url)


def _there(url: str) -> int:
    state = httpx.get(f"{url}/_control", params={"what": "scores"}, timeout=120).json()
    return len(state["scores"])


def _run(way: str, url: str, count: int, seconds: float) -> dict[str, Any]:
    with _started(way, url, count, seconds) as process:
        assert process.stdout is not None
        found: dict[str, Any] = json.loads(process.stdout.read().splitlines()[-1])
        return found


@contextlib.contextmanager
def _started(way: str, url: str, count: int, seconds: float) -> Iterator["subprocess.Popen[str]"]:
    options = [f"--way={way}", f"--url={url}", f"--scores={count}", f"--seconds={seconds}"]
    command = [sys.executable, "-m", "benchmarks.langfuse_scores", *options]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        yield process


def _scores(count: int) -> Iterator[Score]:
    for number in range(count):
        ref = TraceRef(f"{number + 1:032x}", f"{number + 1:016x}")
        yield Score.scored("toxicity", number % 100 / 100, comment=COMMENT * 4, target=ref)


def _paced(count: int, seconds: float, make: Callable[[Score], object]) -> None:
    pause = seconds / count
    for score in _scores(count):
        make(score)
        time.sleep(pause)


def _tracehooks(url: str, count: int, seconds: float) -> dict[str, Any]:
    """The outbox: scores are committed first, which is not counted, and delivered."""
    from tracehooks.exporters.langfuse.sink import LangfuseSink
    from tracehooks.scoring import Deliverer
    from tracehooks.settings import Settings
    from tracehooks.store import ScoreRecord, open_store

    keys = {"base_url": url, "public_key": KEYS[0], "secret_key": KEYS[1]}
    settings = Settings.model_validate({"project": "bench", "langfuse": keys})
    with TemporaryDirectory() as folder, open_store(f"sqlite:///{folder}/store.db") as store:
        sink = LangfuseSink.from_settings(settings)

        def commit(scores: list[Score]) -> None:
            records = [ScoreRecord(score=score) for score in scores]
            store.scores.commit(records, project="bench", sinks=["langfuse"])

        deliverer = Deliverer(store, {"langfuse": sink}, owner="bench")
        if not seconds:
            every = list(_scores(count))
            for first in range(0, count, BATCH):
                commit(every[first : first + BATCH])
            sink.server.facts()
            begun = time.process_time()
            deliverer.deliver()
            return {"cpu": time.process_time() - begun}

        def make(score: Score) -> None:
            commit([score])
            deliverer.deliver(0.05)

        _paced(count, seconds, make)
        end = time.monotonic() + PATIENCE
        while store.outbox.waiting("langfuse", "bench") and time.monotonic() < end:
            time.sleep(0.5)
            deliverer.deliver(10)
        return {"cpu": 0.0}


def _sdk(url: str, count: int, seconds: float) -> dict[str, Any]:
    """Langfuse's own SDK, with its defaults; ids are given, so that it sends nothing twice."""
    from langfuse import Langfuse

    logging.getLogger("langfuse").setLevel(logging.CRITICAL)
    client = Langfuse(public_key=KEYS[0], secret_key=KEYS[1], base_url=url)

    def make(score: Score) -> None:
        assert score.target is not None
        client.create_score(
            name=score.name,
            value=float(score.value or 0),
            trace_id=score.target.trace_id,
            observation_id=score.target.span_id,
            score_id=score.target.trace_id,
            data_type="NUMERIC",
            comment=score.comment,
            timestamp=START,
        )

    begun = time.process_time()
    if seconds:
        _paced(count, seconds, make)
    else:
        for score in _scores(count):
            make(score)
    client.flush()
    return {"cpu": time.process_time() - begun}


def _by_hand(url: str, count: int, _seconds: float) -> dict[str, Any]:
    """Bytes made before, in lists of a hundred."""
    from tracehooks.exporters.langfuse.letters import letter

    bodies = [letter(_row(f"{n:032x}", score)).body for n, score in enumerate(_scores(count))]
    lists = [b"[" + b",".join(bodies[first : first + BATCH]) + b"]" for first in range(0, count, BATCH)]
    with httpx.Client(auth=KEYS, headers={"Content-Type": "application/json"}, timeout=60) as client:
        client.get(f"{url}/api/public/health")
        begun = time.process_time()
        for content in lists:
            client.post(f"{url}/api/public/scores", content=content).raise_for_status()
        return {"cpu": time.process_time() - begun}


def _row(score_id: str, score: Score) -> ScoreRow:
    assert score.target is not None
    micros = int(START.timestamp() * 1e6)
    return ScoreRow(
        id=score_id,
        trace_id=score.target.trace_id,
        span_id=score.target.span_id,
        name=score.name,
        number=float(score.value or 0),
        text=None,
        data_type=score.data_type,
        comment=score.comment,
        metadata="{}",
        environment="default",
        call_start=micros,
        scorer_version="",
        run_id=None,
        probability=None,
        scored_at=micros,
    )


WAYS: dict[str, Callable[[str, int, float], dict[str, Any]]] = {
    "tracehooks": _tracehooks,
    "sdk": _sdk,
    "by_hand": _by_hand,
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.langfuse_scores", description=__doc__)
    parser.add_argument("--scores", type=int, default=10_000)
    parser.add_argument("--outage", type=float, default=30.0, help="seconds")
    parser.add_argument("--way", choices=sorted(WAYS), help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=0.0, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
