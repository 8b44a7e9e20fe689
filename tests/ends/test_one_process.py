"""However a process ends: trace, scores of both hooks and feedback are stored, its exit code is kept."""

import signal
from pathlib import Path

import pytest

from tests.ends.processes import Ended, everything, left, run, together

CALL = "tracehooks.init()\nagent('q')\n"


EXITS = {
    "": 0,
    "sys.exit(3)": 3,
    "raise KeyError('uncaught')": 1,
    "threading.Thread(target=lambda: (time.sleep(0.3), agent('q'))).start(); sys.exit(4)": 4,
}


def test_the_interpreter_ends(tmp_path: Path) -> None:
    """langfuse/langfuse-docs#1050: nobody flushes. By return, exit, error, and with a thread that goes on."""

    def exits(folder: Path, end: str) -> tuple[Ended, dict[str, int]]:
        return run(folder, CALL + end), left(folder)

    for end, (ended, found) in together(tmp_path, EXITS, exits):
        assert (ended.code, ended.warnings) == (EXITS[end], []), (end, ended.err)
        assert found == everything(2 if "Thread" in end else 1), end


WAITS = ["time.sleep(60)", "asyncio.run(asyncio.sleep(60))", "threading.Event().wait(60)", "while True: pass"]


def test_sigterm(tmp_path: Path) -> None:
    """langfuse/langfuse-docs#1050: the signal ends the process as it would have, exit code 143 in a shell."""

    def waits(folder: Path, waiting: str) -> tuple[Ended, dict[str, int]]:
        script = CALL + f"print('ready', flush=True)\n{waiting}"
        return run(folder, script, kill=signal.SIGTERM), left(folder)

    for waiting, (ended, found) in together(tmp_path, WAITS, waits):
        assert ended.code == -signal.SIGTERM, (waiting, ended.err)
        assert ended.seconds < 5, waiting
        assert found == everything(1), waiting


def test_sigterm_as_a_shell_sees_it(tmp_path: Path) -> None:
    """143."""
    script = """
    import subprocess
    child = '''import os, signal, tracehooks
    from tests.ends.app import agent
    tracehooks.init(); agent("q"); os.kill(os.getpid(), signal.SIGTERM)'''
    import textwrap
    done = subprocess.run(["sh", "-c", '"$0" -c "$1"; exit $?', sys.executable, textwrap.dedent(child)])
    sys.exit(done.returncode)
    """
    assert run(tmp_path, script.replace("\\n    ", "\\n")).code == 143
    assert left(tmp_path) == everything(1)


def test_sigint(tmp_path: Path) -> None:
    """As Python has it: KeyboardInterrupt, and 130 in a shell."""
    ended = run(tmp_path, CALL + "print('ready', flush=True)\ntime.sleep(60)", kill=signal.SIGINT)
    assert ended.code == -signal.SIGINT, ended.err
    assert left(tmp_path) == everything(1)


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_applications_own_handler_is_left_alone(tmp_path: Path, when: str) -> None:
    """Installed before or after us: it runs, alone, and what it decides happens."""
    handler = "signal.signal(signal.SIGTERM, lambda *_: (print('mine', flush=True), sys.exit(7)))\n"
    body = handler + CALL if when == "before" else CALL + handler
    ended = run(tmp_path, body + "print('ready', flush=True)\ntime.sleep(60)", kill=signal.SIGTERM)
    assert (ended.code, ended.out) == (7, "ready\nmine\n"), ended.err
    assert left(tmp_path) == everything(1)


def test_a_handler_that_calls_the_one_before_it_ends_the_process(tmp_path: Path) -> None:
    """As uvicorn does: put back what was there, and raise the signal again."""
    body = """
    before = signal.signal(signal.SIGTERM, lambda *_: stop.set())
    stop = threading.Event()
    print('ready', flush=True)
    stop.wait(60)
    signal.signal(signal.SIGTERM, before)
    signal.raise_signal(signal.SIGTERM)
    time.sleep(60)
    """
    import textwrap

    ended = run(tmp_path, CALL + textwrap.dedent(body), kill=signal.SIGTERM)
    assert ended.code == -signal.SIGTERM, ended.err
    assert left(tmp_path) == everything(1)


def test_an_ignored_signal_stays_ignored(tmp_path: Path) -> None:
    """``nohup`` and the like."""
    body = (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + CALL + "print('ready', flush=True)\ntime.sleep(1)"
    )
    ended = run(tmp_path, body, kill=signal.SIGTERM)
    assert ended.code == 0
    assert left(tmp_path) == everything(1)


def test_init_in_a_thread_takes_no_signal(tmp_path: Path) -> None:
    """Python lets only the main thread do that; what is stored by then is safe."""
    body = """
    thread = threading.Thread(target=lambda: (tracehooks.init(), agent("q")))
    thread.start(); thread.join()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    """
    assert run(tmp_path, body).code == 0
    assert left(tmp_path) == everything(1)


def test_a_process_that_is_frozen_after_its_flush(tmp_path: Path) -> None:
    """Serverless: what was flushed is there although the process never wakes again."""
    body = CALL + "assert tracehooks.flush(10)\nprint('ready', flush=True)\ntime.sleep(60)"
    ended = run(tmp_path, body, kill=signal.SIGKILL)
    assert ended.code == -signal.SIGKILL, ended.err
    assert left(tmp_path) == everything(1)


def test_event_loops_one_after_the_other(tmp_path: Path) -> None:
    """``asyncio.run`` twice."""
    body = "tracehooks.init()\nfor _ in range(2): asyncio.run(async_agent('q'))\n"
    ended = run(tmp_path, body)
    assert (ended.code, ended.warnings) == (0, []), ended.err
    assert left(tmp_path) == everything(2)
