"""What an agent notices of scorers that fail, hang and lie: ``python -m benchmarks.agent_probe``.

Prints the latency of an agent that works a little and waits a little: undecorated, decorated on a store in a
file, and undecorated once more, which shows how noisy the machine is. Three times: called back to back with
six hooks that score every call; the same with hooks that score one call in twenty; and, as an application
does it rather, 20 calls a second, each of them scored. Then the counts of the hooks, which must add up
exactly: triggered = sampled_out + dropped + scored + unscored + skipped.

On a machine that others use, too, what is measured is mostly them: ``chrt -r 10`` (Linux, as root) before the
command lets it go first.
"""

import argparse
import asyncio
import logging
import math
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from typing import Any

import tracehooks
from tracehooks import ScoringHook, traced

WAITS = 0.001  # seconds in each call, as for a model, though far shorter
TIMEOUT = 0.3  # seconds of each scorer
TEXT = "answer " * 150
PACE = 0.05  # seconds from one call to the next where they do not come back to back
PACED = 400  # such calls
RATE = 0.05
WARM_UP = 20  # calls that load what is loaded once

_never = threading.Event()


def good(call: Any) -> float:
    return 1.0


def fails(call: Any) -> float:
    raise RuntimeError("no")


def hangs(call: Any) -> float:
    _never.wait()
    return 1.0


async def sleeps(call: Any) -> float:
    await asyncio.sleep(3600)
    return 1.0


def lies(call: Any) -> float:
    return math.nan


def sampled(call: Any) -> float:
    return 0.5


def agent(question: str) -> str:
    """Half a hundred microseconds of work, and a wait."""
    sum(range(2000))
    time.sleep(WAITS)
    return TEXT


def latencies(function: Callable[[str], str], calls: int, pause: float = 0.0) -> list[float]:
    """Milliseconds of each call beyond its wait; ``pause`` seconds between two calls."""
    taken = []
    for number in range(calls):
        begun = time.perf_counter()
        function(f"question {number}")
        taken.append(1000 * (time.perf_counter() - begun - WAITS))
        if pause:
            time.sleep(pause)
    return taken


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=10_000)
    calls = parser.parse_args().calls
    logging.getLogger("tracehooks").setLevel(logging.ERROR)
    with TemporaryDirectory(prefix="tracehooks-bench-") as folder:
        _measure("back to back, every call scored", Path(folder) / "every.db", 1.0, calls)
        _measure("back to back, one call in twenty scored", Path(folder) / "sampled.db", RATE, calls)
        _measure("20 calls a second, every call scored", Path(folder) / "paced.db", 1.0, PACED, PACE)


def _measure(what: str, store: Path, rate: float, calls: int, pause: float = 0.0) -> None:
    print(f"{what} ({calls} calls):")
    hooks = [ScoringHook(scorer, rate=rate, timeout=TIMEOUT) for scorer in (good, fails, hangs, sleeps, lies)]
    hooked = traced(hooks=[*hooks, ScoringHook(sampled, rate=0.1 * rate)])(agent)
    _show("undecorated", latencies(agent, calls, pause))
    tracehooks.init({"store": f"sqlite:///{store}"})
    latencies(hooked, WARM_UP)
    _show("with six hooks", latencies(hooked, calls, pause))
    tracehooks.flush(120)
    _show_counts(tracehooks.stats())
    tracehooks.shutdown(5)
    _show("undecorated again", latencies(agent, calls, pause))


def _show(name: str, taken: list[float]) -> None:
    cuts = quantiles(taken, n=1000)
    p50, p99, p999 = cuts[499], cuts[989], cuts[998]
    print(f"  {name:18} ms beyond the wait: p50 {p50:.3f}  p99 {p99:.3f}  p99.9 {p999:.3f}")


def _show_counts(counts: dict[str, Any]) -> None:
    parts = {
        "sampled_out": counts["sampled_out"],
        "dropped": sum(counts["dropped_scores"].values()),
        "scored": counts["scored"],
        "unscored": sum(counts["unscored"].values()),
        "skipped": sum(counts["skipped"].values()),
    }
    words = " + ".join(f"{name} {number}" for name, number in parts.items())
    verdict = "adds up" if counts["triggered"] == sum(parts.values()) else "DOES NOT ADD UP"
    print(f"  triggered {counts['triggered']} = {words}: {verdict}")


if __name__ == "__main__":
    main()
