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
from tracehooks.protocols import ScoreRow
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
CONFIRM_AFTER = timedelta(hours=1)  # longer than delivering takes: reading back is counted apart
COMMENT = "Mild toxicity: one of three statements is dismissive. "


class Clock:
    """The time of a store, which can be set ahead."""

    ahead = timedelta(0)

    def __call__(self) -> datetime:
        """Now, and what it is ahead."""
        return datetime.now(UTC) + self.ahead


def measure(effort: Effort, tell: Callable[[str], None]) -> Table:
    """The server is a process of its own on loopback; committing the scores is not counted."""
    rounds = []
    with server() as url:
        settings = _settings(url)
        for number in range(effort.spans_rounds):
            tell(f"outbox, round {number + 1} of {effort.spans_rounds}")
            with TemporaryDirectory(prefix="tracehooks-bench-") as folder:
                rounds.append(_round(Path(folder), settings, effort.delivered, number))
    delivered, confirmed, by_hand = (list(taken) for taken in zip(*rounds, strict=True))
    both = [one + other for one, other in zip(delivered, confirmed, strict=True)]
    rows = (
        compared("a score delivered and settled", delivered, by_hand, scale=MICROSECONDS, reach=REACH),
        compared("a score read back and confirmed", confirmed, by_hand, scale=MICROSECONDS),
        compared("a score from pending to confirmed", both, by_hand, scale=MICROSECONDS),
    )
    title = f"CPU of scores through the outbox, over posting the same bytes in batches of {BATCH}"
    return Table("outbox", title, "outbox", "httpx", "µs", rows)


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


def _round(folder: Path, settings: Settings, count: int, number: int) -> tuple[float, float, float]:
    """CPU seconds of a score: delivered, read back, and by hand; of two stores, as each is new there."""
    with open_store(f"sqlite:///{folder / 'by_hand.db'}") as store:
        _commit(store, count, 2 * number)
        requests = list(_requests(store))
    by_hand = _post_all(settings, requests)
    clock = Clock()
    with open_store(f"sqlite:///{folder / 'store.db'}", clock=clock) as store:
        _commit(store, count, 2 * number + 1)
        delivered, confirmed = _through(store, settings, clock)
        if (found := store.outbox.counts()["langfuse"]) != {"confirmed": count}:
            raise RuntimeError(f"of {count} scores not all were delivered and read back: {found}")
    return delivered / count, confirmed / count, by_hand / count


def _through(store: Store, settings: Settings, clock: Clock) -> tuple[float, float]:
    """CPU seconds of claiming, encoding, posting and settling all; and of reading them back afterwards."""
    sink = LangfuseSink.from_settings(settings)
    sink.confirm_after = CONFIRM_AFTER
    sink.server.facts()  # what it is like is found out once a process
    sink.configs.named("")
    deliverer = Deliverer(store, {"langfuse": sink}, owner="bench")
    delivered = _cpu(deliverer.deliver)
    if (found := store.outbox.counts()["langfuse"]).keys() != {"accepted"}:
        raise RuntimeError(f"after delivering not all were accepted, or some read back already: {found}")
    clock.ahead += CONFIRM_AFTER
    confirmed = _cpu(lambda: deliverer.confirm(60))
    sink.close()
    return delivered, confirmed


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
    while rows := store.outbox.rows("pending", "langfuse", BATCH, "by-hand", LEASE):
        yield _request(rows)


def _request(rows: Sequence[ScoreRow]) -> bytes:
    return b'{"batch":[' + b",".join(letter(row).event for row in rows) + b"]}"


def _post_all(settings: Settings, requests: Sequence[bytes]) -> float:
    """CPU seconds of posting ``requests`` on a connection that is open already, as the sink's is."""
    headers = {"Content-Type": "application/json"}
    address = f"{settings.langfuse.base_url}/api/public"

    def post() -> None:
        for content in requests:
            reply = client.post(f"{address}/ingestion", content=content)
            if reply.status_code != 207 or reply.json()["errors"]:
                raise RuntimeError(f"the server did not take what was posted: {reply.text[:200]}")

    with httpx.Client(auth=KEYS, headers=headers, timeout=60) as client:
        client.get(f"{address}/health").raise_for_status()
        return _cpu(post)


def _cpu(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before
