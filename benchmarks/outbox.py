"""What it costs to bring scores from the outbox to a Langfuse-shaped server, over posting the same bytes."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from benchmarks.effort import Effort
from benchmarks.figures import Table, compared
from benchmarks.root import ROOT
from tracehooks.exporters.langfuse.letters import letter
from tracehooks.exporters.langfuse.sink import LangfuseSink
from tracehooks.protocols import Delivery
from tracehooks.records import AgentCall, Score, TraceRef
from tracehooks.scoring import Deliverer
from tracehooks.settings import Settings
from tracehooks.store import ScoreRecord, Store, open_store

BATCH = 100
REACH = 1.5
MICROSECONDS = 1e6
START = datetime(2026, 11, 30, tzinfo=UTC)
KEYS = ("pk-lf-lab-0000", "sk-lf-lab-0000")
LEASE = timedelta(seconds=600)
COMMENT = "Mild toxicity: one of three statements is dismissive. "


def measure(effort: Effort, tell: Callable[[str], None]) -> Table:
    """The server is a process of its own on loopback; committing the scores is not counted."""
    ours, theirs = [], []
    with server() as url:
        settings = _settings(url)
        for number in range(effort.spans_rounds):
            tell(f"outbox, round {number + 1} of {effort.spans_rounds}")
            with TemporaryDirectory(prefix="tracehooks-bench-") as folder:
                one, other = _round(Path(folder), settings, effort.delivered, number)
            ours.append(one)
            theirs.append(other)
    row = compared("a score delivered and settled", ours, theirs, scale=MICROSECONDS, reach=REACH)
    title = f"CPU of scores through the outbox, over posting the same bytes in batches of {BATCH}"
    return Table("outbox", title, "outbox", "httpx", "µs", (row,))


@contextmanager
def server(*options: str) -> Iterator[str]:
    """A stand-in for Langfuse in a process of its own; its base URL."""
    command = [sys.executable, "-m", "tests.fake_langfuse", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def _settings(url: str) -> Settings:
    keys = {"base_url": url, "public_key": KEYS[0], "secret_key": KEYS[1]}
    return Settings.model_validate({"project": "bench", "langfuse": keys})


def _round(folder: Path, settings: Settings, count: int, number: int) -> tuple[float, float]:
    """CPU seconds of a score, delivered and by hand; of two stores: each score is new there."""
    with open_store(f"sqlite:///{folder / 'by_hand.db'}") as store:
        _commit(store, count, 2 * number)
        requests = list(_requests(store))
    by_hand = _cpu(lambda: _post_all(settings, requests)) / count
    with open_store(f"sqlite:///{folder / 'store.db'}") as store:
        _commit(store, count, 2 * number + 1)
        sink = LangfuseSink.from_settings(settings)
        sink.server.facts()  # what it is like is found out once a process
        deliverer = Deliverer(store, {"langfuse": sink}, owner="bench")
        ours = _cpu(deliverer.deliver) / count
        settled = store.outbox.counts()["langfuse"]
        sink.close()
    if sum(settled.values()) - settled.get("pending", 0) != count or settled.get("dead"):
        raise RuntimeError(f"of {count} scores not all were delivered: {settled}")
    return ours, by_hand


def _commit(store: Store, count: int, series: int) -> None:
    records = [_record(series * count + number) for number in range(count)]
    for first in range(0, count, BATCH):
        store.scores.commit(records[first : first + BATCH], project="bench", sinks=("langfuse",))


def _record(number: int) -> ScoreRecord:
    ref = TraceRef(f"{number + 1:032x}", f"{number + 1:016x}")
    start = START + timedelta(seconds=number % 80_000)
    call = AgentCall(trace_id=ref.trace_id, span_id=ref.span_id, name="support", start=start, end=start)
    score = Score.scored("toxicity", number % 100 / 100, comment=COMMENT * 4, metadata={"band": "mild"})
    return ScoreRecord(score=score.at(ref), call=call, run_id=None)


def _requests(store: Store) -> Iterator[bytes]:
    while deliveries := store.outbox.pending("langfuse", BATCH, "by-hand", LEASE):
        yield _request(deliveries)


def _request(deliveries: Sequence[Delivery]) -> bytes:
    return b'{"batch":[' + b",".join(letter(delivery).event for delivery in deliveries) + b"]}"


def _post_all(settings: Settings, requests: Sequence[bytes]) -> None:
    headers = {"Content-Type": "application/json"}
    address = f"{settings.langfuse.base_url}/api/public/ingestion"
    with httpx.Client(auth=KEYS, headers=headers, timeout=60) as client:
        for content in requests:
            reply = client.post(address, content=content)
            if reply.status_code != 207 or reply.json()["errors"]:
                raise RuntimeError(f"the server did not take what was posted: {reply.text[:200]}")


def _cpu(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before
