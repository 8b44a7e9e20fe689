"""Running a script to its end, and looking at what was left."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tests.hooks.counting import ALWAYS
from tracehooks.store import open_store

C = TypeVar("C")
R = TypeVar("R")

ROOT = Path(__file__).parents[2]
PREAMBLE = (
    "import asyncio, os, signal, sys, threading, time\nimport tracehooks\nfrom tests.ends.app import *\n"
)
SETTLED = 0.15  # seconds, fewer than the app's slow scorer takes
LOST = 8  # seconds after which a signal is sent again, longer than any end may take
TOO_LONG = 80  # seconds for a process on a busy machine
NAMES = ("length", "quality", "thumbs")


@dataclass(frozen=True)
class Ended:
    """How a process ended. ``seconds`` is from its signal, its first line, or its start, to its end."""

    code: int
    seconds: float
    out: str
    err: str

    @property
    def warnings(self) -> list[str]:
        """What our logger said."""
        return [line for line in self.err.splitlines() if line.startswith("LOG ")]


def url_of(folder: Path) -> str:
    """The store of the processes that run in ``folder``."""
    return f"sqlite:///{folder}/ends.db"


def environment(folder: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """That of such a process."""
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("TRACEHOOKS_", "OTEL_"))
    }
    paths = [str(ROOT), str(folder / "site"), str(folder.parent / "site"), str(folder)]
    return {
        **clean,
        "PYTHONPATH": os.pathsep.join(paths),
        "TRACEHOOKS_STORE": url_of(folder),
        "PYTHONWARNINGS": "ignore::DeprecationWarning",
        "PYTHONFAULTHANDLER": "1",
        **(more or {}),
    }


def run(
    folder: Path, body: str, *, kill: signal.Signals | None = None, more: Mapping[str, str] | None = None
) -> Ended:
    """Run a script in ``folder`` to its end; with ``kill`` it gets that signal when it has printed ``ready``.

    Python loses the wake-up of a signal that comes just as a call begins to wait, whoever's handler it is:
    it runs the handler when that call returns, or with the next signal. So that is sent again, too late to
    help a handler that takes longer than it may.
    """
    file = folder / "script.py"
    file.write_text(PREAMBLE + textwrap.dedent(body))
    process = subprocess.Popen(
        [sys.executable, str(file)],
        cwd=folder,
        env=environment(folder, more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    # faulthandler says where it hangs, and its children too
    watchdog = threading.Timer(TOO_LONG, os.killpg, [process.pid, signal.SIGABRT])
    watchdog.start()
    try:
        return _to_its_end(process, kill)
    finally:
        watchdog.cancel()
        with contextlib.suppress(ProcessLookupError):  # whatever it has left behind
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _to_its_end(process: "subprocess.Popen[str]", kill: signal.Signals | None) -> Ended:
    assert process.stdout is not None
    begun = time.monotonic()
    first = process.stdout.readline()
    if kill is not None:
        assert first == "ready\n", process.communicate(timeout=20)
        time.sleep(SETTLED)
        process.send_signal(kill)
    if first:
        begun = time.monotonic()
    try:
        out, err = process.communicate(timeout=TOO_LONG if kill is None else LOST)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, kill or signal.SIGABRT)
        begun = time.monotonic()
        out, err = process.communicate(timeout=TOO_LONG)
    return Ended(process.returncode, time.monotonic() - begun, first + out, err)


def together(folder: Path, cases: Iterable[C], one: Callable[[Path, C], R]) -> list[tuple[C, R]]:
    """What ``one(a folder, case)`` gives for each case, all at the same time: they mostly wait."""
    cases = list(cases)
    folders = [folder / str(number) for number in range(len(cases))]
    for each in folders:
        each.mkdir()
    with ThreadPoolExecutor(len(cases)) as pool:
        return list(zip(cases, pool.map(one, folders, cases), strict=True))


def left(folder: Path) -> dict[str, int]:
    """What the store has: ``calls``, and the scored scores by name; checked to be whole."""
    with open_store(url_of(folder)) as store:
        assert store.check() == []
        scores = store.scores.page(status="scored", limit=10_000)
        refs = {(call.trace_id, call.span_id) for call in store.calls.iterate(*ALWAYS)}
        assert {(score.trace_id, score.span_id) for score in scores} <= refs
        names = {name: sum(score.name == name for score in scores) for name in NAMES}
        return {"calls": len(refs), **names}


def everything(calls: int) -> dict[str, int]:
    """What there should be after so many calls."""
    return {"calls": calls, **dict.fromkeys(NAMES, calls)}
