"""Scorers that wait: they wait together, on a loop that is not the agent's, and nobody waits for them."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import tracehooks
from tests.hooks.counting import Seen, total
from tracehooks import ScoringHook, traced
from tracehooks.records import AgentCall

Start = Callable[..., None]


def test_async_scorers_wait_together_and_not_one_after_the_other(start: Start) -> None:
    """As many as their concurrency allows are inside at the same time, all of them on one thread."""
    start()
    inside, most, threads = 0, 0, set()
    full = asyncio.Event()

    async def waits(call: AgentCall) -> float:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        threads.add(threading.current_thread())
        if inside == 8:
            full.set()
        await full.wait()  # forever, were they called one after the other
        inside -= 1
        return 1.0

    @traced(hooks=[ScoringHook(waits, concurrency=8)])
    def agent(n: int) -> int:
        return n

    for n in range(16):
        agent(n)
    assert tracehooks.flush(20)
    assert most == 8
    assert len(threads) == 1
    assert threading.current_thread() not in threads
    assert tracehooks.stats()["scored"] == 16


def test_a_scorers_loop_is_not_the_agents(start: Start) -> None:
    """An async agent goes on while its scorers wait; its own loop hears nothing of them."""
    start()
    released, seen, loops = threading.Event(), [], []

    async def slow(call: AgentCall) -> float:
        loops.append(asyncio.get_running_loop())
        while not released.is_set():
            await asyncio.sleep(0.01)
        return 1.0

    @traced(hooks=[ScoringHook(slow)])
    async def agent(n: int) -> int:
        await asyncio.sleep(0)
        return n

    async def main() -> None:
        for n in range(20):
            seen.append(await agent(n))
        while not loops:
            await asyncio.sleep(0.01)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert asyncio.get_running_loop() not in loops

    asyncio.run(main())
    assert seen == list(range(20))
    assert tracehooks.stats()["scored"] == 0
    released.set()
    assert tracehooks.flush(20)
    assert tracehooks.stats()["scored"] == 20


def test_a_slow_scorer_holds_up_neither_agent_nor_other_scorers(start: Start) -> None:
    """The others' scores are there while it is still at work, and its own come when it is done."""
    start()
    released, quick = threading.Event(), Seen("quick")

    def slow(call: AgentCall) -> float:
        released.wait(30)
        return 1.0

    @traced(hooks=[ScoringHook(slow), ScoringHook(quick)])
    def agent(n: int) -> int:
        return n

    for n in range(100):
        agent(n)
    end = time.monotonic() + 20
    while tracehooks.stats()["by_scorer"]["quick"]["scored"] < 100 and time.monotonic() < end:
        time.sleep(0.01)
    counts: Any = tracehooks.stats()["by_scorer"]
    assert (counts["quick"]["scored"], counts["slow"]["scored"]) == (100, 0)
    assert counts["slow"]["triggered"] == total(counts["slow"]) + counts["slow"]["pending"] == 100
    released.set()
    assert tracehooks.flush(20)
    assert tracehooks.stats()["by_scorer"]["slow"]["scored"] == 100
