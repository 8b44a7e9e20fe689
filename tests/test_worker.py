"""The background worker: bounded, counted, fork-aware, and true to its timeouts."""

import os
import subprocess
import sys
import threading
import time

import pytest

from tracehooks.worker import BackgroundWorker


def test_items_are_handled_in_order_and_in_batches() -> None:
    """Nothing is lost or reordered, and no batch is larger than asked."""
    batches: list[list[int]] = []
    worker = BackgroundWorker[int]("t", batches.append, max_queue=100, max_batch=7, interval=0.01)
    assert all(worker.put(n) for n in range(50))
    assert worker.flush(5)
    assert [n for batch in batches for n in batch] == list(range(50))
    assert max(map(len, batches)) <= 7
    assert worker.pending == 0
    assert worker.close()


def test_a_batch_waits_no_longer_than_its_interval() -> None:
    """A single item is handled without anybody flushing."""
    seen = threading.Event()
    worker = BackgroundWorker[int]("t", lambda _: seen.set(), interval=0.05)
    worker.put(1)
    assert seen.wait(5)
    worker.close()


def test_no_thread_before_the_first_item() -> None:
    """Making a worker costs no thread."""
    before = threading.active_count()
    worker = BackgroundWorker[int]("t", lambda _: None)
    assert worker.flush(1)
    assert threading.active_count() == before


def test_items_that_are_too_large_together_are_refused_and_counted() -> None:
    """However few they are, those that are being handled included; a large one alone always has room."""
    gate, begun = threading.Event(), threading.Event()
    handled: list[int] = []

    def slow(batch: list[int]) -> None:
        begun.set()
        gate.wait(10)
        handled.extend(batch)

    worker = BackgroundWorker[int]("t", slow, max_queue=32, max_batch=1, max_size=100, interval=0.01)
    assert worker.put(0, 1000)
    assert begun.wait(10)
    assert not worker.put(1, 1)
    gate.set()
    assert worker.flush(5)
    gate.clear()
    assert [worker.put(n, 40) for n in range(2, 6)] == [True, True, False, False]
    assert worker.put(6, 0)
    gate.set()
    assert worker.flush(5)
    assert worker.put(7, 100)
    assert worker.flush(5)
    assert handled == [0, 2, 3, 6, 7]
    assert worker.dropped == 3
    worker.close()


def test_a_handler_that_exits_ends_nothing() -> None:
    """SystemExit in the background is one failure like another: what comes next is handled."""
    seen: list[int] = []

    def exits(batch: list[int]) -> None:
        seen.extend(batch)
        raise SystemExit

    worker = BackgroundWorker[int]("t", exits, max_batch=1, interval=0.01)
    for n in range(3):
        worker.put(n)
        assert worker.flush(5)
    assert seen == [0, 1, 2]
    worker.close()


def test_a_full_queue_refuses_and_counts() -> None:
    """Nothing is lost without being counted under load: langfuse/langfuse#1499."""
    gate = threading.Event()
    handled: list[int] = []

    def slow(batch: list[int]) -> None:
        gate.wait(10)
        handled.extend(batch)

    worker = BackgroundWorker[int]("t", slow, max_queue=32, max_batch=8, interval=0.01)
    accepted = sum(worker.put(n) for n in range(500))
    assert accepted < 500
    gate.set()
    assert worker.flush(5)
    assert len(handled) + worker.dropped == 500
    worker.close()


def test_flush_honours_its_timeout() -> None:
    """A handler that never returns cannot hold flush or close beyond their timeouts."""
    gate = threading.Event()
    worker = BackgroundWorker[int]("t", lambda _: gate.wait(20), interval=0.01)
    worker.put(1)
    start = time.monotonic()
    assert not worker.flush(0.2)
    assert not worker.close(0.2)
    assert time.monotonic() - start < 10
    gate.set()


def test_flush_waits_only_for_what_was_there() -> None:
    """Flush returns although other threads keep putting."""
    worker = BackgroundWorker[int](
        "t", lambda _: time.sleep(0.001), max_queue=10_000, max_batch=10, interval=0.01
    )
    stop = threading.Event()

    def put_on() -> None:
        while not stop.is_set():
            worker.put(1)
            time.sleep(0.0002)

    thread = threading.Thread(target=put_on)
    thread.start()
    try:
        time.sleep(0.05)
        assert worker.flush(5)
    finally:
        stop.set()
        thread.join()
    worker.close()


def test_a_raising_handler_is_logged_once_and_does_not_stop_the_worker(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One warning, and the next batch is handled."""
    handled: list[int] = []

    def moody(batch: list[int]) -> None:
        if batch[0] < 2:
            raise RuntimeError("no")
        handled.extend(batch)

    worker = BackgroundWorker[int]("t", moody, max_batch=1, max_queue=10, interval=0.01)
    for n in range(4):
        worker.put(n)
    assert worker.flush(5)
    assert handled == [2, 3]
    assert len(caplog.records) == 1
    worker.close()


def test_close_drops_and_counts_what_it_could_not_handle() -> None:
    """After close nothing is accepted, and what was queued is counted as dropped."""
    gate = threading.Event()
    worker = BackgroundWorker[int]("t", lambda _: gate.wait(20), max_batch=1, max_queue=10, interval=0.01)
    for n in range(3):
        worker.put(n)
    time.sleep(0.1)
    assert not worker.close(0.1)
    assert not worker.put(9)
    assert worker.dropped == 3
    gate.set()


def test_put_is_reentrant() -> None:
    """A put from within a put, as the garbage collector may cause, neither deadlocks nor loses the item."""
    handled: list[int] = []
    worker = BackgroundWorker[int]("t", handled.extend, interval=0.01)
    with worker._changed:
        worker.put(1)
    assert worker.flush(5)
    assert handled == [1]
    worker.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_starts_empty_and_works() -> None:
    """The child handles its own items only, the parent its own: open-telemetry/opentelemetry-python#4215."""
    script = """
import os, sys, time
from tracehooks.worker import BackgroundWorker
r, w = os.pipe()
worker = BackgroundWorker("t", lambda batch: os.write(w, b"".join(batch)), interval=30)
worker.put(b"p"); worker._changed.acquire()     # forked while the lock is held
pid = os.fork()
if pid == 0:
    ok = worker.pending == 0 and worker.put(b"c") and worker.flush(5)
    os._exit(0 if ok else 1)
worker._changed.release()
status = os.waitpid(pid, 0)[1]
assert status == 0, status
assert worker.flush(5)
os.close(w)
print(os.read(r, 100).decode())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.strip()) == ["c", "p"]


def test_flush_works_while_the_interpreter_exits() -> None:
    """Threads cannot be started at exit from Python 3.12 on; the items are handled all the same."""
    script = """
import atexit
from tracehooks.worker import BackgroundWorker
worker = BackgroundWorker("t", lambda batch: print(batch, flush=True), interval=30)
def last():
    worker.put("late")
    assert worker.flush(5)
atexit.register(last)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "['late']"


@pytest.mark.parametrize("bad", [{"max_batch": 0}, {"max_queue": 1, "max_batch": 2}, {"interval": 0}])
def test_impossible_sizes_are_refused(bad: dict[str, int]) -> None:
    """A worker that could never hand over a batch is refused when made."""
    with pytest.raises(ValueError, match="must be positive"):
        BackgroundWorker[int]("t", lambda _: None, **bad)
