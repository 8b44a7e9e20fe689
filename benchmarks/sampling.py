"""What it costs to draw a sample from a Langfuse-shaped server, over streaming the same pages."""

import json
import subprocess
import sys
from collections.abc import Callable
from statistics import median

from benchmarks.effort import Effort
from benchmarks.figures import Ratio, Row, Table, compared
from benchmarks.outbox import server
from benchmarks.root import ROOT

REACH = 1.2
MOST_MEGABYTES = 40.0
MICROSECONDS = 1e6
SIZE = 1000


def measure(effort: Effort, tell: Callable[[str], None]) -> Table:
    """Each way in a process of its own, in turns; the traces of the calls that are drawn are not read."""
    lines: dict[str, list[dict[str, float]]] = {"ours": [], "theirs": []}
    tell(f"sampling, a server with {effort.listed} calls")
    with server("--calls", str(effort.listed)) as url:
        for number in range(effort.spans_rounds):
            tell(f"sampling, round {number + 1} of {effort.spans_rounds}")
            for way in sorted(lines, reverse=number % 2 == 1):
                lines[way].append(_line(way, url, effort.listed))
    ours, theirs = ([line["cpu"] / effort.listed for line in lines[way]] for way in ("ours", "theirs"))
    growth, usual = (median(line["megabytes"] for line in lines[way]) for way in ("ours", "theirs"))
    share = growth / MOST_MEGABYTES
    rows = (
        compared("a call listed, and drawn or not", ours, theirs, scale=MICROSECONDS, reach=REACH),
        Row(
            f"growth of memory, MB of {MOST_MEGABYTES:g}",
            growth,
            usual,
            Ratio(share, share, share, len(ours)),
            1.0,
        ),
    )
    title = (
        f"CPU of sampling {SIZE:,} of {effort.listed:,} calls, over streaming the pages with httpx and orjson"
    )
    return Table("sampling", title, "source", "httpx", "µs", rows)


def _line(way: str, url: str, count: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.sampling_probe", way, url, str(SIZE)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise RuntimeError(f"sampling was not measured: {done.stderr.strip().splitlines()[-1]}")
    line: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    if line["listed"] != count:
        raise RuntimeError(f"{way}: {line['listed']} calls were listed, not {count}")
    return line
