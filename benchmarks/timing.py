"""CPU time of several ways to do the same, measured in turns so that all meet the same machine.

Only the standard library, as this also runs in environments that have nothing else.
"""

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

Run = Callable[[int], None]  # does the work so many times
TURN = 0.02  # seconds of CPU that the reference takes in one round


@dataclass(frozen=True, slots=True)
class Turn:
    """CPU seconds of one call: of the whole process, and of the thread that made the calls."""

    process: float
    thread: float


def calls_for(run: Run, seconds: float = TURN) -> int:
    """How many calls take about that much CPU."""
    calls = 8  # one for each of the threads, where there are threads
    while (taken := _turn(run, calls).process * calls) < seconds / 2:
        calls = max(calls * 2, min(int(calls * seconds / max(taken, 1e-7)), calls * 100))
    return max(8, int(calls * seconds / taken))


def warm_up(ways: Mapping[str, Run], calls: int, seconds: float) -> None:
    """Run each way until caches, specialised bytecode and lazy imports are there: for so much CPU."""
    for run in ways.values():
        end = time.process_time() + seconds
        run(calls)
        while time.process_time() < end:
            run(calls)


def rounds(ways: Mapping[str, Run], calls: int, count: int) -> Iterator[dict[str, Turn]]:
    """Each way once a round; every other round in the opposite order, so that a drift favours nobody."""
    for number in range(count):
        names = list(ways) if number % 2 == 0 else list(reversed(list(ways)))
        turns = {name: _turn(ways[name], calls) for name in names}
        yield {name: turns[name] for name in ways}


def _turn(run: Run, calls: int) -> Turn:
    """The collector stays on, as it is in production; it starts with an empty slate each time."""
    gc.collect()
    gc.freeze()
    process, thread = time.process_time(), time.thread_time()
    run(calls)
    process, thread = time.process_time() - process, time.thread_time() - thread
    gc.unfreeze()
    return Turn(process / calls, thread / calls)
