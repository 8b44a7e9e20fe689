"""What a toxicity night over a large store takes, in time and memory, with a judge that is often busy."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.effort import Effort
from benchmarks.figures import Ratio, Row, Table
from benchmarks.root import ROOT
from benchmarks.store import BATCH, spans
from tests.fake_openai import FakeOpenAI, ToxicWords
from tests.fake_openai.replies import Reply, status
from tracehooks.store import open_store

MOST_SECONDS, MOST_MEGABYTES = 600.0, 500.0
EVERY = 20  # each so many requests one is answered with 429


def measure(effort: Effort, tell: Callable[[str], None]) -> Table:
    """The night is a process of its own; making its store, and the judge, are not counted."""
    with TemporaryDirectory(prefix="tracehooks-bench-") as folder:
        url = f"sqlite:///{folder}/store.db"
        tell(f"night, storing {effort.night_calls} calls")
        with open_store(url) as store:
            for first in range(0, effort.night_calls, BATCH):
                store.spans.add(spans(first, min(BATCH, effort.night_calls - first)))
        tell(f"night, judging {effort.night_judged} of them")
        with FakeOpenAI(_Busy(), keep=False) as judge:
            line = _night(Path(folder), url, judge.url, effort.night_judged)
    title = f"A night over {effort.night_calls:,} stored calls, {line['scored']:,} judged, 429s in between"
    rows = (
        _row("wall time, seconds", line["seconds"], MOST_SECONDS),
        _row("peak memory, MB", line["megabytes"], MOST_MEGABYTES),
    )
    return Table("night", title, "night", "at most", "", rows)


class _Busy:
    """A judge that answers one request in twenty with 429."""

    def __init__(self) -> None:
        self._judge, self._count = ToxicWords(), 0

    def __call__(self, body: dict[str, object]) -> Reply:
        self._count += 1
        busy = self._count % EVERY == 0
        return status(429, "rate_limit_exceeded", retry_after="0") if busy else self._judge(body)


def _night(folder: Path, store: str, judge: str, size: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.night_probe", store, judge, str(size)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=3 * MOST_SECONDS)
    if done.returncode:
        raise RuntimeError(f"the night was not measured: {done.stderr.strip().splitlines()[-1]}")
    line: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    if line["scored"] != size:
        raise RuntimeError(f"{line['scored']} calls were scored, not {size}")
    return line


def _row(name: str, figure: float, most: float) -> Row:
    share = figure / most
    return Row(name, figure, most, Ratio(share, share, share, 1), reach=1.0)
