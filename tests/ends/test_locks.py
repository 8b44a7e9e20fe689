"""SIGTERM at a bad moment: whatever it interrupts, the process ends in time, and it does so by the signal."""

import signal
import textwrap
from pathlib import Path

from tests.ends.processes import Ended, everything, left, run, together

CALL = "from tracehooks import runtime\ntracehooks.init()\nagent('q')\n"
LOCKS = [
    "runtime.pipeline().worker._changed",
    "runtime._runtime.lock",
    "runtime.online().driver.counts._lock",
    "threading._active_limbo_lock",
    "logging.root.handlers[0].lock",
]
HELD = """
runtime.ends._left = 1.0
with {lock}:
    print("ready", flush=True)
    time.sleep(60)
"""


def test_no_lock_that_is_held_can_hold_up_the_end(tmp_path: Path) -> None:
    """Neither one of ours nor of Python's: after the time allowed the process dies, finished or not."""

    def held(folder: Path, lock: str) -> Ended:
        return run(folder, CALL + HELD.format(lock=lock), kill=signal.SIGTERM)

    for lock, ended in together(tmp_path, LOCKS, held):
        assert ended.code == -signal.SIGTERM, (lock, ended.err)
        assert ended.seconds < 6, lock


HOLDS_FOR_A_MOMENT = '''
OURS = """
def hold(lock):
    with lock:
        print("ready", flush=True)
        until = time.monotonic() + 0.35
        while time.monotonic() < until: pass
"""
names = {"__name__": "tracehooks.worker", "time": time}
exec(OURS, names)
names["hold"](runtime.pipeline().worker._changed)
time.sleep(60)
'''


def test_code_of_ours_lets_go_of_its_lock_first(tmp_path: Path) -> None:
    """SIGTERM in the middle of it: nothing is lost, and nothing waits for the timeout."""
    ended = run(tmp_path, CALL + HOLDS_FOR_A_MOMENT, kill=signal.SIGTERM)
    assert ended.code == -signal.SIGTERM, ended.err
    assert ended.seconds < 5
    assert left(tmp_path) == everything(1)


def test_sigterm_during_an_exit(tmp_path: Path) -> None:
    """The exit finishes first, and is not begun again."""
    ended = run(tmp_path, CALL + "print('ready', flush=True)", kill=signal.SIGTERM)
    assert ended.code == -signal.SIGTERM, ended.err
    assert ended.seconds < 5
    assert left(tmp_path) == everything(1)


def test_sigterm_over_and_over(tmp_path: Path) -> None:
    """An impatient supervisor changes nothing."""
    body = """
    def again():
        while True: os.kill(os.getpid(), signal.SIGTERM); time.sleep(0.01)
    threading.Thread(target=again, daemon=True).start()
    time.sleep(60)
    """
    ended = run(tmp_path, CALL + textwrap.dedent(body))
    assert ended.code == -signal.SIGTERM, ended.err
    assert left(tmp_path) == everything(1)


def test_sigterm_in_a_busy_loop_of_calls(tmp_path: Path) -> None:
    """Most of the time it interrupts code of ours. What had ended before is stored."""
    body = """
    from tracehooks import traced

    @traced
    def agent(q):
        return q

    tracehooks.init()
    counter = os.open("counter", os.O_RDWR | os.O_CREAT)
    for n in range(1_000_000):
        agent("q")
        os.pwrite(counter, b"%07d" % (n + 1), 0)
        if n == 50: print("ready", flush=True)
        if n % 50 == 0: time.sleep(0.02)
    """
    ended = run(tmp_path, body, kill=signal.SIGTERM)
    assert ended.code == -signal.SIGTERM, ended.err
    assert ended.seconds < 6
    counted = int((tmp_path / "counter").read_text())
    assert counted <= left(tmp_path)["calls"] <= counted + 1
