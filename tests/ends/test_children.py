"""Child processes of every kind: each stores its own, once, and nothing of its parent's."""

from pathlib import Path

import pytest

from tests.ends.processes import Ended, everything, left, run, together

pytestmark = pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="needs fork")

WORK = """
import tracehooks
from tests.ends.app import agent

def start():
    tracehooks.init()

def ask(question):
    return agent(question)

def child(question):
    tracehooks.init()
    agent(question)
"""


FORKS = {
    "os._exit(0 if tracehooks.flush(10) else 1)": 0,
    "sys.exit(5)": 5,
    "os.kill(os.getpid(), 15)": -15,
}
FORK = """
tracehooks.init()
if {warm}:
    agent("before")
    assert tracehooks.flush(10)
agent("parent")
child = os.fork()
if child == 0:
    agent("child")
    assert tracehooks.stats()["ended"] == 1
    {end}
begun = time.monotonic()
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert time.monotonic() - begun < 20
assert code == {code}, code
assert tracehooks.flush(10)
"""


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
def test_a_fork(tmp_path: Path, warm: bool) -> None:
    """open-telemetry/opentelemetry-python#4215, open-telemetry/opentelemetry-python#1567,
    open-telemetry/opentelemetry-python#2349: forked with a call not yet flushed; each stores its own. The
    child ends after an explicit flush, by an exit, by SIGTERM."""

    def forks(folder: Path, end: str) -> tuple[Ended, dict[str, int]]:
        return run(folder, FORK.format(warm=warm, end=end, code=FORKS[end])), left(folder)

    for end, (ended, found) in together(tmp_path, FORKS, forks):
        assert (ended.code, ended.warnings) == (0, []), (end, ended.err)
        assert found == everything(3 if warm else 2), end


def test_a_fork_while_other_threads_are_at_work(tmp_path: Path) -> None:
    """Whatever locks they hold at that moment: the children do not hang, and nothing is lost or doubled."""
    body = """
    tracehooks.init()
    agent("warm")
    tracehooks.flush(10)
    stop, done = threading.Event(), []

    def on_and_on():
        while not stop.is_set():
            agent("thread")
            done.append(1)
            time.sleep(0.01)  # more would be too much for a scorer on a busy machine

    threads = [threading.Thread(target=on_and_on) for _ in range(4)]
    for thread in threads: thread.start()
    children = []
    for _ in range(10):
        child = os.fork()
        if child == 0:
            agent("child")
            os._exit(0 if tracehooks.flush(20) else 1)
        children.append(child)
        time.sleep(0.02)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    stop.set()
    for thread in threads: thread.join()
    assert codes == [0] * 10, codes
    assert tracehooks.flush(30)
    print(len(done) + 11)
    """
    ended = run(tmp_path, body, more={"ENDS_SLOW": "0"})
    assert (ended.code, ended.warnings) == (0, []), ended.err
    assert left(tmp_path) == everything(int(ended.out))


METHODS = ["fork", "spawn", "forkserver"]
PROCESSES = """
import multiprocessing, work
if __name__ == "__main__":
    work.child("parent")
    context = multiprocessing.get_context("{method}")
    children = [context.Process(target=work.child, args=(str(n),)) for n in range(2)]
    for child in children: child.start()
    for child in children: child.join(40)
    assert [child.exitcode for child in children] == [0, 0]
"""
EXECUTOR = """
import multiprocessing, work
from concurrent.futures import ProcessPoolExecutor
if __name__ == "__main__":
    context = multiprocessing.get_context("{method}")
    with ProcessPoolExecutor(2, mp_context=context, initializer=work.start) as pool:
        assert list(pool.map(work.ask, "abcd")) == [f"answer to {{q}}" for q in "abcd"]
"""


@pytest.mark.parametrize(("body", "calls"), [(PROCESSES, 3), (EXECUTOR, 4)], ids=["processes", "executor"])
def test_multiprocessing(tmp_path: Path, body: str, calls: int) -> None:
    """open-telemetry/opentelemetry-python#4215: its children leave without exit handlers."""

    def runs(folder: Path, method: str) -> tuple[Ended, dict[str, int]]:
        (folder / "work.py").write_text(WORK)
        return run(folder, body.format(method=method)), left(folder)

    for method, (ended, found) in together(tmp_path, METHODS, runs):
        assert (ended.code, ended.warnings) == (0, []), (method, ended.err)
        assert found == everything(calls), method


@pytest.mark.parametrize("initializer", ["None", "tracehooks.init"])
def test_pools_that_are_terminated_at_once_end(tmp_path: Path, initializer: str) -> None:
    """Their workers get SIGTERM once, whatever they are just doing, and are waited for with no limit."""
    body = f"""
    import multiprocessing
    if __name__ == "__main__":
        tracehooks.init()
        for _ in range(60):
            with multiprocessing.get_context("fork").Pool(2, initializer={initializer}):
                pass
    """
    ended = run(tmp_path, body)
    assert ended.code == 0, ended.err


WAITS = """
import asyncio, os, signal, threading, time
import tracehooks
from tests.ends.app import agent

def kill():
    time.sleep(0.3)
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

def wait():
    agent("before")
    loop = asyncio.new_event_loop()
    loop.add_signal_handler(signal.SIGUSR1, print)
    loop.close()
    assert tracehooks.flush(20)
    agent("after")
    threading.Thread(target=kill, daemon=True).start()
    time.sleep(60)
"""


def test_sigterm_reaches_a_child_whose_event_loop_has_closed(tmp_path: Path) -> None:
    """A loop that had handlers takes Python's wake-up descriptor along; the next call takes it again.

    The signal comes in another thread, so that nothing but that descriptor tells of it: the child sleeps.
    """
    (tmp_path / "work.py").write_text(WAITS)
    body = """
    import multiprocessing, work
    if __name__ == "__main__":
        tracehooks.init()
        child = multiprocessing.get_context("fork").Process(target=work.wait, daemon=True)
        child.start()
        child.join(40)
        assert child.exitcode == -15, child.exitcode
    """
    ended = run(tmp_path, body)
    assert ended.code == 0, ended.err
    assert left(tmp_path) == everything(2)


def test_a_pool_that_is_terminated(tmp_path: Path) -> None:
    """``multiprocessing.Pool`` ends its workers by SIGTERM."""
    (tmp_path / "work.py").write_text(WORK)
    body = """
    import multiprocessing, work
    if __name__ == "__main__":
        with multiprocessing.get_context("fork").Pool(2, initializer=work.start) as pool:
            pool.map(work.ask, "abcd")
    """
    ended = run(tmp_path, body)
    assert ended.code == 0, ended.err
    assert left(tmp_path) == everything(4)
