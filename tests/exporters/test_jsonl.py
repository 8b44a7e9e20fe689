import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from tracehooks.exporters.jsonl import JsonlSink
from tracehooks.protocols import Delivery
from tracehooks.records import AgentCall, Score, TraceRef
from tracehooks.settings import JsonlSettings, Settings

START = datetime(2026, 11, 30, 2, tzinfo=UTC)


def delivery(number: int, revision: int = 1, value: float = 0.5, **more: Any) -> Delivery:
    ref = TraceRef(f"{number:032x}", f"{number:016x}")
    score = Score.scored("toxicity", value, target=ref, comment="mild", **more)
    call = AgentCall(
        trace_id=ref.trace_id, span_id=ref.span_id, name="support", tags=("beta",), user_id="u-1"
    )
    return Delivery(
        id=f"{number:032x}", score=score, call=call, time=START, environment="production", revision=revision
    )


def lines(path: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the sink writes; the folder is not there yet."""
    return tmp_path / "out" / "scores.jsonl"


def test_a_score_is_one_line_with_all_that_it_says(path: Path) -> None:
    """Address, value, reason, time, environment, revision and provenance; odd values made safe."""
    metadata = {"judge_model": "m", "n": 2**70, "x": float("nan"), "text": "\ud83e"}
    (receipt,) = JsonlSink(path).deliver([delivery(1, metadata=metadata)])
    assert (receipt.id, receipt.accepted) == (f"{1:032x}", True)
    assert lines(path) == [
        {
            "id": f"{1:032x}",
            "revision": 1,
            "name": "toxicity",
            "value": 0.5,
            "data_type": "NUMERIC",
            "comment": "mild",
            "trace_id": f"{1:032x}",
            "span_id": f"{1:016x}",
            "time": "2026-11-30T02:00:00+00:00",
            "environment": "production",
            "call": "support",
            "session_id": None,
            "user_id": "u-1",
            "tags": ["beta"],
            "metadata": {"judge_model": "m", "n": str(2**70), "x": None, "text": "\ufffd"},
        }
    ]


def test_the_path_is_a_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By default beside the store; a relative one means where the program was started."""
    monkeypatch.chdir(tmp_path)
    sinks = [
        JsonlSink.from_settings(Settings()),
        JsonlSink.from_settings(Settings(jsonl=JsonlSettings(path="x/y.jsonl"))),
    ]
    monkeypatch.chdir("/")
    for sink in sinks:
        assert sink.deliver([delivery(1)])[0].accepted
    assert (tmp_path / ".tracehooks/scores.jsonl").is_file()
    assert (tmp_path / "x/y.jsonl").is_file()


def test_a_score_handed_over_twice_is_written_once(path: Path) -> None:
    """In one batch, in two, and by a sink that was made later."""
    sink = JsonlSink(path)
    assert [receipt.accepted for receipt in sink.deliver([delivery(1), delivery(1), delivery(2)])] == [
        True
    ] * 3
    sink.deliver([delivery(2), delivery(3)])
    JsonlSink(path).deliver([delivery(1), delivery(4)])
    sink.deliver([delivery(4)])
    assert [int(line["id"], 16) for line in lines(path)] == [1, 2, 3, 4]


def test_a_rescore_is_a_new_line(path: Path) -> None:
    """Of one id the last line counts."""
    sink = JsonlSink(path)
    sink.deliver([delivery(1, value=0.2)])
    sink.deliver([delivery(1, revision=2, value=0.7)])
    sink.deliver([delivery(1, value=0.2)])
    assert [(line["revision"], line["value"]) for line in lines(path)] == [(1, 0.2), (2, 0.7)]


def test_half_a_line_of_a_killed_writer_spoils_only_itself(path: Path) -> None:
    """The next score starts on a line of its own; foreign lines are left alone."""
    path.parent.mkdir()
    path.write_bytes(b'[1]\nnot json\n{"id": "0000", "revi')
    sink = JsonlSink(path)
    sink.deliver([delivery(1)])
    sink.deliver([delivery(1), delivery(2)])
    assert path.read_bytes().startswith(b'[1]\nnot json\n{"id": "0000", "revi\n{"id":"')
    assert [orjson.loads(line)["id"] for line in path.read_bytes().splitlines()[3:]] == [
        f"{n:032x}" for n in (1, 2)
    ]


def test_a_file_that_was_moved_away_is_begun_anew(path: Path) -> None:
    """Log rotation neither stops the sink nor makes it believe that the new file holds the old scores."""
    sink = JsonlSink(path)
    sink.deliver([delivery(1)])
    path.rename(path.with_suffix(".1"))
    sink.deliver([delivery(1), delivery(2)])
    assert len(lines(path)) == 2
    os.truncate(path, 0)
    sink.deliver([delivery(2)])
    assert len(lines(path)) == 1


@contextlib.contextmanager
def full_disk(spare: int) -> Iterator[None]:
    """No file takes more than ``spare`` bytes, as long as this lasts."""
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (spare, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_full_disk_leaves_the_file_as_it_was(path: Path) -> None:
    """No receipt is accepted, each may be tried again, and no half line stays."""
    JsonlSink(path).deliver([delivery(1)])
    before = path.read_bytes()
    with full_disk(len(before) + 100):
        receipts = JsonlSink(path).deliver([delivery(2), delivery(3)])
    assert [(receipt.accepted, receipt.retry) for receipt in receipts] == [(False, True)] * 2
    assert str(path) in (receipts[0].error or "")
    assert path.read_bytes() == before


def test_an_unusable_path_gives_receipts_that_say_so(tmp_path: Path) -> None:
    """A folder in the way is an error of each delivery, not an exception."""
    (receipt,) = JsonlSink(tmp_path).deliver([delivery(1)])
    assert not receipt.accepted
    assert str(tmp_path) in (receipt.error or "")


SCRIPT = """
import sys
from tests.exporters.test_jsonl import JsonlSink, delivery
sink = JsonlSink(sys.argv[1])
for first in range(1, 401, 10):
    sink.deliver([delivery(number, metadata={"text": "x" * 5000}) for number in range(first, first + 20)])
"""


def test_processes_and_threads_write_each_score_once(path: Path) -> None:
    """Three processes, and threads in this one, all with the same scores: whole lines, each score once."""
    processes = [subprocess.Popen([sys.executable, "-c", SCRIPT, str(path)]) for _ in range(3)]
    shared = JsonlSink(path)

    def deliver() -> None:
        for first in range(1, 401, 10):
            shared.deliver([delivery(number) for number in range(first, first + 20)])

    threads = [threading.Thread(target=deliver) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert sorted(int(line["id"], 16) for line in lines(path)) == list(range(1, 411))
