"""Blocking functions in daemon threads: bounded, used again, and never in the way of an exit."""

import asyncio
import contextvars
import os
import pickle
import subprocess
import sys
import threading

import pytest

from tracehooks.threads import DaemonExecutor, DaemonThreads, Stuck


def test_results_and_errors_come_back() -> None:
    """Even StopIteration, which a future cannot hold."""
    threads = DaemonThreads()

    def stops() -> None:
        raise StopIteration

    async def main() -> None:
        assert await threads.run(sum, [1, 2]) == 3
        with pytest.raises(ZeroDivisionError):
            await threads.run(lambda: 1 / 0)
        with pytest.raises(RuntimeError, match="StopIteration"):
            await threads.run(stops)
        with pytest.raises(SystemExit):
            await threads.run(sys.exit)

    asyncio.run(main())


def test_the_functions_context_is_the_callers() -> None:
    """As with ``asyncio.to_thread``."""
    variable = contextvars.ContextVar("variable", default="unset")
    variable.set("set")
    assert asyncio.run(DaemonThreads().run(variable.get)) == "set"


def test_threads_are_used_again() -> None:
    """A hundred calls one after the other need one."""
    threads, names = DaemonThreads(), set()

    async def main() -> None:
        for _ in range(100):
            names.add(await threads.run(threading.get_ident))

    asyncio.run(main())
    assert len(names) <= 2


def test_so_many_at_once_and_no_more() -> None:
    """What hangs uses up its places; when one returns there is room again."""
    threads, release = DaemonThreads(limit=3), threading.Event()

    async def main() -> None:
        hanging = [asyncio.ensure_future(threads.run(release.wait, 30)) for _ in range(3)]
        await asyncio.sleep(0.05)
        with pytest.raises(Stuck, match="3 earlier calls"):
            await threads.run(int)
        hanging[0].cancel()
        with pytest.raises(Stuck):
            await threads.run(int)
        release.set()
        await asyncio.wait(hanging[1:])
        for _ in range(100):
            await asyncio.sleep(0.01)
            try:
                assert await threads.run(int) == 0
            except Stuck:
                continue
            return
        pytest.fail("still stuck")

    asyncio.run(main())


def test_a_copy_begins_anew() -> None:
    """Scorers that hold one are pickled."""
    assert isinstance(pickle.loads(pickle.dumps(DaemonThreads(limit=2))), DaemonThreads)


def test_as_a_loops_executor_it_does_what_an_executor_does() -> None:
    """Results, errors, cancellation before the start."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(DaemonExecutor())
        assert await asyncio.to_thread(sum, [1, 2]) == 3
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(lambda: 1 / 0)

    asyncio.run(main())


HANGING = """
import asyncio, threading
from tracehooks.threads import DaemonExecutor, DaemonThreads

async def main():
    asyncio.get_running_loop().set_default_executor(DaemonExecutor())
    tasks = [asyncio.ensure_future(DaemonThreads().run(threading.Event().wait)),
             asyncio.ensure_future(asyncio.to_thread(threading.Event().wait))]
    await asyncio.wait(tasks, timeout=0.2)

asyncio.run(main())
"""


def test_what_hangs_does_not_hold_the_exit() -> None:
    """Neither a function of ours nor one of the loop."""
    assert subprocess.run([sys.executable, "-c", HANGING], timeout=20).returncode == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_has_all_places_free() -> None:
    """Whatever hangs in the parent, and whoever held the lock."""
    threads, release = DaemonThreads(limit=1), threading.Event()

    def hang() -> None:
        release.wait(30)

    threads.start(hang)
    with threads._lock:
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if asyncio.run(threads.run(int)) == 0 else 1)
            finally:
                os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    release.set()
