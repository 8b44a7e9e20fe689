"""How long the viewer's pages take over a large store, asked over HTTP as a browser does."""

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import httpx

from benchmarks.effort import Effort
from benchmarks.figures import Row, Table
from benchmarks.store import BATCH, spans
from tracehooks.records import Score, TraceRef
from tracehooks.store import ScoreRecord, open_store

FIRST_PAGE = 300.0  # milliseconds
ASKED = 9
SCORED = 4  # one call in so many has a score
TOXIC = 500
PAGES = {
    "overview": "/",
    "traces, first page": "/traces",
    "traces, toxic ones": "/traces?score=toxicity&above=0.5",
    "traces, unscored ones, of which there are none": "/traces?status=unscored",
    "traces, words that nobody said": "/traces?q=nowhere+at+all",
    "one trace": "/traces/{trace}",
}
REACHES = {"overview", "traces, first page"}


def measure(effort: Effort, tell: Callable[[str], None]) -> Table:
    """The median wall time of each page, the server warm, its file in the system's cache."""
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/store.db"
        tell(f"viewer: {effort.viewed:,} calls into a store")
        trace = _fill(url, effort.viewed)
        with _viewer(url, Path(folder)) as client:
            rows = [_row(client, name, path.format(trace=trace), tell) for name, path in PAGES.items()]
    title = f"The viewer over {effort.viewed:,} traces, median of {ASKED}"
    return Table("viewer", title, "page", "reach", "ms", tuple(rows))


def _fill(url: str, count: int) -> str:
    with open_store(url) as store:
        for first in range(0, count, BATCH):
            batch = spans(first, min(BATCH, count - first))
            store.spans.add(batch)
            scored = [
                (number, TraceRef(span.trace_id, span.span_id))
                for number, span in enumerate(batch, first)
                if number % SCORED == 0
            ]
            results = [Score.scored("toxicity", 0.8 * (n % TOXIC == 0)).at(ref) for n, ref in scored]
            store.scores.commit([ScoreRecord(score=one) for one in results], project="viewed", sinks=())
    return spans(count // 2, 1)[0].trace_id


@contextmanager
def _viewer(url: str, folder: Path) -> Iterator[httpx.Client]:
    settings = folder / "tracehooks.yaml"
    settings.write_text(f"store: {url}\n", encoding="utf-8")
    verb = [sys.executable, "-m", "tracehooks", "view", "--port", "0", "--no-browser"]
    command = [*verb, "--config", str(settings)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            address = re.search(r"http://\S+", process.stderr.readline())
            assert address is not None, "the viewer did not start"
            with httpx.Client(base_url=address[0], timeout=60) as client:
                yield client
        finally:
            process.terminate()


def _row(client: httpx.Client, name: str, path: str, tell: Callable[[str], None]) -> Row:
    tell(f"viewer: {name}")
    times = []
    client.get(path).raise_for_status()
    for _ in range(ASKED):
        begun = time.perf_counter()
        client.get(path).raise_for_status()
        times.append(time.perf_counter() - begun)
    return Row(name, 1000 * median(times), FIRST_PAGE if name in REACHES else None)
