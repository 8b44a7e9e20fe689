"""Blocking calls: fine outside an event loop, refused at once inside one."""

import asyncio
import threading
import time

import pytest

from tests.fake_openai import FakeOpenAI, ToxicWords
from tracehooks.errors import RunningLoopError
from tracehooks.judges import OpenAIJudge
from tracehooks.scorers import ToxicityScorer
from tracehooks.testing import ScriptedJudge


def test_a_blocking_call_inside_a_loop_names_the_one_to_await() -> None:
    """confident-ai/deepeval#2952, confident-ai/deepeval#1147, agronholm/apscheduler#408: it neither hangs nor
    stops the loop's other tasks."""
    judge = ScriptedJudge([{"verdicts": [{"verdict": "no"}]}])
    scorer = ToxicityScorer(judge)

    async def main() -> int:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.001)

        task = asyncio.create_task(tick())
        await asyncio.sleep(0.02)
        with pytest.raises(RunningLoopError, match=r"await ToxicityScorer\.run\("):
            scorer.run_sync(output="Hello.")
        before = ticks
        assert (await scorer.run(output="Hello.")).value == 0.0
        await asyncio.sleep(0.02)
        task.cancel()
        return ticks - before

    start = time.monotonic()
    assert asyncio.run(main()) > 1
    assert time.monotonic() - start < 20
    assert len(judge.calls) == 1


def test_blocking_calls_work_one_after_another_and_in_threads() -> None:
    """confident-ai/deepeval#1147: each call has a loop of its own, over one judge."""
    values = []
    with FakeOpenAI(ToxicWords()) as server:
        scorer = ToxicityScorer(OpenAIJudge("m", server.url))
        values += [scorer.run_sync(output=text).value for text in ("Hello.", "You idiot!")]
        threads = [
            threading.Thread(target=lambda: values.append(scorer.run_sync(output="idiot").value))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert values == [0.0, 0.9, 0.9, 0.9, 0.9, 0.9]
