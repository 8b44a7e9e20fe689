"""Other processes that use the store, for tests that need real ones."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


@contextmanager
def started(module: str, *arguments: object) -> Iterator["subprocess.Popen[str]"]:
    """``python -W error -m module arguments`` with pipes; killed at the end if it still runs."""
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-m", module, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def line_of(process: "subprocess.Popen[str]") -> str:
    """The next line that the process prints; fails with what it says on stderr when there is none."""
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline()
    assert line, process.stderr.read()
    return line.strip()


def go(processes: Sequence["subprocess.Popen[str]"]) -> None:
    """Let processes that wait for a line on stdin start."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()


def finish(process: "subprocess.Popen[str]", timeout: float = 60) -> str:
    """Wait for a process that must end well and silently on stderr. Returns what it printed."""
    out, err = process.communicate(timeout=timeout)
    assert err == ""
    assert process.returncode == 0
    return out
