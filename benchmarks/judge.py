"""What a judged item costs over HTTP, against the plain openai client on its default transport."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from benchmarks.effort import Effort
from benchmarks.figures import Table, compared
from benchmarks.root import ROOT

CONCURRENCIES = (50, 200)
REACH = 1.0
MICROSECONDS = 1e6


def measure(effort: Effort, tell: Callable[[str], None]) -> Table:
    """The server is a process of its own on loopback, so that only clients are measured."""
    rows = []
    with server() as url:
        for concurrency in CONCURRENCIES:
            tell(f"judge, concurrency {concurrency}")
            lines = _lines(url, concurrency, effort)
            ours, theirs = ([line[way] for line in lines] for way in ("ours", "theirs"))
            name = f"an item at concurrency {concurrency}"
            rows.append(compared(name, ours, theirs, scale=MICROSECONDS, reach=REACH))
    title = "CPU of a judged item over HTTP, over the openai client's create"
    return Table("judge", title, "scorer", "create", "µs", tuple(rows))


@contextmanager
def server() -> Iterator[str]:
    """An OpenAI-compatible server in a process of its own; its base URL."""
    command = [sys.executable, "-m", "tests.fake_openai"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def _lines(url: str, concurrency: int, effort: Effort) -> list[dict[str, float]]:
    command = [sys.executable, "-m", "benchmarks.judge_probe", url, "--concurrency", str(concurrency)]
    options = ["--items", str(effort.judged), "--rounds", str(effort.judge_rounds)]
    done = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise RuntimeError(f"the judge was not measured: {done.stderr.strip().splitlines()[-1]}")
    return [json.loads(line) for line in done.stdout.splitlines()]
