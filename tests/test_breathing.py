"""Background work rests in between, unless somebody waits for it; nobody else's does."""

import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from tracehooks.breathing import PIECE, REST, at_work, breathe, hurried

PIECES = 40


def work(pieces: int = PIECES) -> None:
    """Compute for somewhat more than a piece before each breath."""
    for _ in range(pieces):
        end = time.thread_time() + 1.1 * PIECE
        while time.thread_time() < end:
            pass
        breathe()


def rests(function: Callable[[], object]) -> int:
    """How often a thread that does this gives up its processor, as every sleep does."""
    found = []

    def counted() -> None:
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
        function()
        found.append(resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - before)

    thread = threading.Thread(target=counted)
    thread.start()
    thread.join()
    return found[0]


def in_background() -> None:
    with at_work():
        work()


def in_a_hurry() -> None:
    with hurried():
        in_background()


def under_pressure() -> None:
    with at_work(lambda: 1.0):
        work()


def test_background_work_rests_after_every_piece() -> None:
    """Each rest is a real one, that lets whoever waits in; also when there is much to do."""
    assert rests(in_background) >= PIECES
    assert rests(under_pressure) >= PIECES


@pytest.mark.parametrize("other", [work, in_a_hurry])
def test_others_do_not_rest(other: Callable[[], None]) -> None:
    """An application's own threads never, and ours not while a flush waits."""
    assert rests(other) < PIECES


def test_all_together_have_a_part_of_the_time() -> None:
    """Three threads rest one after the other."""
    threads = [threading.Thread(target=in_background) for _ in range(3)]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - begun > len(threads) * (PIECES - 2) * PIECE * REST


FORKING = """
import os
from tests.test_breathing import PIECES, hurried, in_background, rests
with hurried():
    child = os.fork()
    if child == 0:
        os._exit(0 if rests(in_background) >= PIECES else 1)
    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_child_is_in_no_hurry() -> None:
    """It begins anew, though its parent was just waiting."""
    assert subprocess.run([sys.executable, "-c", FORKING], check=False, timeout=60).returncode == 0
