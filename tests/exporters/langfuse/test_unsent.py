"""Spans of a process that ended while Langfuse was down: sent from the store, once, as they were."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shop import NOWHERE, Shop, environment
from tests.fake_langfuse import FakeLangfuse
from tests.fake_openai import FakeOpenAI, ToxicWords

ROOT = Path(__file__).parents[3]
CALLS, SPANS = 200, 800  # each call has a tool, a generation, and a span of another instrumentation
OTLP = "/api/public/otel/v1/traces"
SETTINGS = """
project: shop
service: help
environment: Prod Env
store: sqlite:///{folder}/store.db
text: $.output.choices[0].message.content
langfuse: {{base_url: "{url}", public_key: {public}, secret_key: {secret}, confirm_after: 100ms}}
judge: {{model: judge-2026, base_url: "{judge}", api_key: key-TEST-123, timeout: 60s, attempts: 1}}
canaries: {{enabled: false}}
jobs: {{toxicity: {{settle: 0s, window: all, sample: {{size: 1000}}, gate: {{max_rate: 0.2}}}}}}
"""
# what differs from one run to the next: compared with the store instead
OF_ONE_RUN = (
    "id",
    "traceId",
    "parentObservationId",
    "startTime",
    "endTime",
    "latency",
    "createdAt",
    "updatedAt",
)
INSTANCE = "resourceAttributes.service.instance.id"


@pytest.fixture(scope="module")
def judge() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(ToxicWords(["idiot"])) as server:
        yield server


def shop_at(folder: Path, server: FakeLangfuse, judge: str) -> Shop:
    folder.mkdir(exist_ok=True)
    keys = {"url": server.url, "public": server.public_key, "secret": server.secret_key, "judge": judge}
    (folder / "tracehooks.yaml").write_text(SETTINGS.format(folder=folder, **keys))
    return Shop(folder)


@contextmanager
def application(shop: Shop, count: int = CALLS, **environ: str) -> Iterator[subprocess.Popen[str]]:
    """The application, all of its spans stored, still running."""
    config = str(shop.folder / "tracehooks.yaml")
    command = [sys.executable, "-m", "tests.exporters.langfuse.span_process", config, str(count)]
    pipe, surroundings = subprocess.PIPE, environment(LANGFUSE_RELEASE="2026.11", **environ)
    process = subprocess.Popen(command, cwd=ROOT, env=surroundings, stdin=pipe, stdout=pipe, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "stored\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str], how: str) -> None:
    """Let it return, or kill it."""
    if how == "killed":
        process.send_signal(signal.SIGKILL)
        assert process.wait(30) == -signal.SIGKILL
        return
    process.communicate("return\n", timeout=60)
    assert process.returncode == 0


def picture(server: FakeLangfuse) -> Counter[str]:
    """All that the server shows, but for what differs from run to run; and each once."""
    shown = server.observations
    rows = {row["id"]: row for row in shown}
    assert len(rows) == len(shown)
    seen: Counter[str] = Counter()
    for row in rows.values():
        known = {name: value for name, value in row.items() if name not in OF_ONE_RUN}
        known["metadata"] = {key: value for key, value in row["metadata"].items() if key != INSTANCE}
        parent = rows.get(row["parentObservationId"])
        known["parent"] = parent and (parent["name"], parent["input"])
        seen[json.dumps(known, sort_keys=True)] += 1
    return seen


def times_are_the_stored_ones(shop: Shop, server: FakeLangfuse) -> None:
    """Start and end to the millisecond, and ids, are those of the spans in the store."""
    with shop.store() as store:
        for trace_id, rows in server.traces.items():
            spans = {span.span_id: span for span in store.spans.of_trace(trace_id)}
            for row in rows:
                span = spans.pop(row["id"])
                assert row["parentObservationId"] == span.parent_span_id
                assert _milliseconds(row["startTime"]) == span.start_ns // 1_000_000
                assert _milliseconds(row["endTime"]) == span.end_ns // 1_000_000
            assert not spans


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Counter[str]:
    """What an application leaves that nothing happens to."""
    with FakeLangfuse() as server:
        shop = shop_at(tmp_path_factory.mktemp("whole"), server, NOWHERE)
        with application(shop) as process, shop.store() as store:
            end = time.monotonic() + 120  # at its end it would have two seconds
            while store.unsent.counts() and time.monotonic() < end:
                time.sleep(0.1)
            ended(process, "return")
        assert len(server.observations) == SPANS
        assert spans_of(shop) == {}
        return picture(server)


def spans_of(shop: Shop) -> Any:
    return shop.document("outbox", "status")["spans"].get("langfuse", {})


@pytest.mark.parametrize(("mode", "how"), [("dual", "killed"), ("events", "return"), ("v3", "killed")])
def test_a_flush_sends_what_a_process_left(
    mode: str, how: str, whole: Counter[str], tmp_path: Path, judge: FakeOpenAI
) -> None:
    """Down during 200 calls and when the process ended: every span there, once, as an undisturbed run's."""
    with FakeLangfuse(mode) as server:
        shop = shop_at(tmp_path / "shop", server, judge.url)
        server.down()
        with application(shop) as process:
            ended(process, how)
        waiting = shop.tracehooks("outbox", "status", "--json")
        assert waiting.returncode == 3
        told = json.loads(waiting.stdout)["spans"]["langfuse"]
        assert (told["waiting"], told["on_their_way"], told["dead"], told["given_up"]) == (SPANS, 0, 0, {})
        assert "800" in shop.tracehooks("outbox", "status").stdout
        server.up()
        flushed = shop.tracehooks("outbox", "flush", "--timeout", "60s")
        assert flushed.returncode == 0, flushed
        assert picture(server) == whole
        times_are_the_stored_ones(shop, server)
        assert spans_of(shop) == {}
        sent = len(server.requests)
        assert shop.tracehooks("outbox", "flush").returncode == 0
        assert len(server.requests) == sent


def test_what_was_taken_without_an_answer_is_the_same_when_it_is_sent_again(
    whole: Counter[str], tmp_path: Path
) -> None:
    """Its answers are lost, and the process is killed: the server gets the same again, and shows it once."""
    with FakeLangfuse() as server:
        shop = shop_at(tmp_path, server, NOWHERE)
        server.fail(OTLP, status=503, written=True, times=None)
        with application(shop) as process:
            assert server.wait_for(lambda: len(server.observations) > 0, timeout=60)
            ended(process, "killed")
        assert spans_of(shop)["waiting"] == SPANS
        server.clear()
        flushed = shop.tracehooks("outbox", "flush", "--timeout", "60s")
        assert flushed.returncode == 0, flushed
        assert picture(server) == whole
        assert spans_of(shop) == {}


def test_the_next_night_sends_spans_before_their_scores(
    whole: Counter[str], tmp_path: Path, judge: FakeOpenAI
) -> None:
    """A night while the server is down scores all the same; the one after it delivers, spans first."""
    with FakeLangfuse("v4.59") as server:
        shop = shop_at(tmp_path / "shop", server, judge.url)
        server.down()
        with application(shop) as process:
            ended(process, "killed")
        night = shop.tracehooks("run", "toxicity")
        assert night.returncode == 0, night
        server.up()
        assert shop.tracehooks("run", "toxicity").returncode == 0
        assert shop.tracehooks("outbox", "flush", "--timeout", "60s").returncode == 0
        assert picture(server) == whole
        written = [one.path for one in server.requests if one.method == "POST" and one.status in (200, 202)]
        first_score = next(place for place, path in enumerate(written) if path.endswith("/scores"))
        assert OTLP not in written[first_score:]
        traces = set(server.traces)
        judged = {row["traceId"] for row in server.scores if row["name"] == "toxicity"}
        assert judged
        assert judged <= traces


def _milliseconds(text: str) -> int:
    from datetime import datetime

    return round(datetime.fromisoformat(text).timestamp() * 1000)
