"""One background loop: lazy, unbothered by what it runs, bounded in time, and fork-aware."""

import asyncio
import contextvars
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tracehooks.async_worker import AsyncWorker


async def nothing(item: object) -> None:
    await asyncio.sleep(0)


@contextmanager
def closing(worker: AsyncWorker[int]) -> Iterator[AsyncWorker[int]]:
    yield worker
    worker.close(5)


def test_items_are_worked_on_at_the_same_time() -> None:
    """One that waits holds no other up."""
    done: list[int] = []

    async def work(item: int) -> None:
        await asyncio.sleep(0.2 if item == 0 else 0.01)
        done.append(item)

    with closing(AsyncWorker("t", work)) as worker:
        assert all(worker.put(n) for n in range(100))
        assert worker.flush(5)
    assert sorted(done) == list(range(100))
    assert done[-1] == 0


def test_no_thread_before_the_first_item() -> None:
    """Making one costs nothing."""
    before = threading.active_count()
    worker: AsyncWorker[int] = AsyncWorker("t", nothing)
    assert worker.flush(1)
    assert threading.active_count() == before
    assert worker.close(1)


def test_nothing_of_the_putters_context_reaches_the_handler() -> None:
    """An agent's context may hold anything, and must not live on in the background."""
    variable = contextvars.ContextVar("variable", default="unset")
    seen: list[str] = []

    async def work(item: int) -> None:
        seen.append(variable.get())

    variable.set("the agent's")
    with closing(AsyncWorker("t", work)) as worker:
        worker.put(1)
        assert worker.flush(5)
    assert seen == ["unset"]


def test_what_a_handler_raises_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    """And the next item is worked on."""

    async def work(item: int) -> None:
        raise ValueError(item)

    with caplog.at_level(logging.WARNING, "tracehooks"), closing(AsyncWorker("t", work)) as worker:
        assert all(worker.put(n) for n in range(5))
        assert worker.flush(5)
    assert len(caplog.records) == 1


def test_flush_and_close_honour_their_timeouts() -> None:
    """Whether the handler waits or blocks the loop."""
    release = threading.Event()

    async def waits(item: int) -> None:
        await asyncio.sleep(30)

    async def blocks(item: int) -> None:
        release.wait(30)

    for work in (waits, blocks):
        worker = AsyncWorker("t", work)
        worker.put(1)
        before = time.monotonic()
        assert not worker.flush(0.2)
        assert not worker.close(0.2)
        assert time.monotonic() - before < 10
        assert not worker.put(2)
    release.set()


def test_blocking_calls_of_handlers_run_in_daemon_threads() -> None:
    """``asyncio.to_thread`` and name lookups would be joined at exit otherwise."""
    names: list[str] = []

    def blocking() -> None:
        names.append(threading.current_thread().name)
        assert threading.current_thread().daemon

    async def work(item: int) -> None:
        await asyncio.to_thread(blocking)
        await asyncio.get_running_loop().getaddrinfo("localhost", 80)

    with closing(AsyncWorker("t", work)) as worker:
        worker.put(1)
        assert worker.flush(10)
    assert names == ["tracehooks-blocking"]


NO_FILES = """
import asyncio, os, resource
import asyncio.selector_events
from tracehooks.async_worker import AsyncWorker

worker = AsyncWorker("t", lambda item: asyncio.sleep(0))
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (30, most))
taken = []
try:
    while True:
        taken.append(os.dup(1))
except OSError:
    pass
print(worker.put(1), worker.pending)
for one in taken:
    os.close(one)
print(worker.put(2), worker.flush(60))
worker.close(60)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="its limits are those of Unix")
def test_a_process_without_a_file_left_is_told_no_and_later_served() -> None:
    """Opening a loop takes files: an item that cannot be worked on is refused, and never waits for ever."""
    done = subprocess.run([sys.executable, "-c", NO_FILES], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["False 0", "True True"], done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_begins_with_nothing_pending_and_works() -> None:
    """open-telemetry/opentelemetry-python#2349: the parent's items are the parent's, in grandchildren too."""
    done: list[int] = []

    async def work(item: int) -> None:
        await asyncio.sleep(0.3)
        done.append(item)

    def in_child(depth: int) -> bool:
        if worker.pending or done:
            return False
        worker.put(10)
        if depth and _forked(lambda: in_child(depth - 1)) != 0:
            return False
        return worker.flush(5) and done == [10]

    with closing(AsyncWorker("t", work)) as worker:
        worker.put(1)
        assert _forked(lambda: in_child(1)) == 0
        assert worker.flush(5)
    assert done == [1]


def _forked(promise: object) -> int:
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if promise() else 1)  # type: ignore[operator]
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
