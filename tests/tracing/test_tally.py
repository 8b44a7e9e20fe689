"""The count of calls: exact with many threads, and looked at without being changed."""

import threading

from tracehooks.tracing.tally import Tally


def test_every_addition_of_every_thread_counts() -> None:
    """Eight threads add at once, and none of their additions is lost."""
    tally, begin = Tally(), threading.Barrier(8)

    def add() -> None:
        begin.wait(30)
        for _ in range(5_000):
            tally.add()

    threads = [threading.Thread(target=add) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tally.value == 40_000


def test_looking_changes_nothing() -> None:
    """However often the count is looked at, it is what was added."""
    tally = Tally()
    assert [tally.value, tally.value] == [0, 0]
    for _ in range(3):
        tally.add()
    assert [tally.value, tally.value] == [3, 3]
