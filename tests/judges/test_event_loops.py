"""A judge outlives event loops, crosses threads and processes, and leaves nothing open."""

import asyncio
import gc
import pickle
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.fake_openai import HANG, FakeOpenAI, Reply, chat, slow, status
from tracehooks.judges import OpenAIJudge
from tracehooks.judges.replies import read_number
from tracehooks.judges.retrying import Retry
from tracehooks.protocols import Answer, Question


def read_score(reply: Any) -> float:
    return read_number(reply.get("score"), "score", 0, 1)


QUESTION = Question(
    name="q",
    instructions="Rate it. Reply in JSON.",
    material={"response": "Hello."},
    schema={"type": "object"},
    read=read_score,
)


def good(_: dict[str, Any]) -> Reply:
    return chat({"score": 0.2})


ABANDONING = """
import asyncio, gc, logging, sys
from tracehooks.judges import OpenAIJudge
from tracehooks.protocols import Question

async def main():
    question = Question(name="q", instructions="JSON", material={}, schema={}, read=dict)
    task = asyncio.create_task(OpenAIJudge("m", sys.argv[1]).ask(question))
    await asyncio.sleep(1)

logging.basicConfig(level=logging.WARNING)
asyncio.run(main())
gc.collect()
print("end")
"""


# In a process of its own: such a loop leaves its connections to the garbage collector.
CLOSING_BY_HAND = """
import asyncio, sys
from tests.judges.test_event_loops import QUESTION, ask_some
from tracehooks.judges import OpenAIJudge

judge = OpenAIJudge("m", sys.argv[1])
for _ in range(3):
    loop = asyncio.new_event_loop()
    assert loop.run_until_complete(judge.ask(QUESTION)).value == 0.2
    loop.close()
left = len(judge._clients._of)
assert asyncio.run(ask_some(judge)) == [0.2] * 3
print(left, judge._clients._of)
"""


async def ask_some(judge: OpenAIJudge, count: int = 3) -> list[Any]:
    return [answer.value for answer in await asyncio.gather(*(judge.ask(QUESTION) for _ in range(count)))]


def test_a_judge_serves_one_event_loop_after_another() -> None:
    """confident-ai/deepeval#1147: a second asyncio.run does not meet the first one's closed loop."""
    with FakeOpenAI(good) as server:
        judge = OpenAIJudge("m", server.url)
        for _ in range(3):
            assert asyncio.run(ask_some(judge)) == [0.2] * 3


def test_a_judge_serves_several_loops_at_once() -> None:
    """confident-ai/deepeval#1147: threads with loops of their own share a judge."""
    with FakeOpenAI(good) as server:
        judge = OpenAIJudge("m", server.url)
        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(lambda _: asyncio.run(ask_some(judge, 10)), range(8)))
    assert results == [[0.2] * 10] * 8


def test_nothing_stays_open_when_a_loop_ends() -> None:
    """No ResourceWarning for a connection nobody closed, and the judge keeps nothing of a loop that ended."""
    with FakeOpenAI(good) as server, warnings.catch_warnings():
        warnings.simplefilter("error")
        judge = OpenAIJudge("m", server.url)
        for _ in range(3):
            asyncio.run(ask_some(judge))
            assert judge._clients._of == {}
        del judge
        gc.collect()


def test_a_loop_closed_by_hand_is_forgotten() -> None:
    """A loop that ended without its clean-up does not pile up in the judge, nor harm the next one."""
    with FakeOpenAI(good) as server:
        command = [sys.executable, "-c", CLOSING_BY_HAND, server.url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 {}\n", "")


def test_a_closed_judge_can_be_used_again() -> None:
    """aclose() ends the running loop's connections, twice if need be; the next question opens new ones."""

    async def closed_in_between(judge: OpenAIJudge) -> list[Any]:
        before = await judge.ask(QUESTION)
        await judge.aclose()
        await judge.aclose()
        assert judge._clients._of == {}
        return [before.value, (await judge.ask(QUESTION)).value]

    with FakeOpenAI(good) as server:
        assert asyncio.run(closed_in_between(OpenAIJudge("m", server.url))) == [0.2, 0.2]


def test_a_pickled_judge_asks_like_the_first() -> None:
    """A judge in use crosses to another process with its key, its limits and what it has learned."""

    async def used(judge: OpenAIJudge) -> bytes:
        assert (await judge.ask(QUESTION)).attempts == 2
        return pickle.dumps(judge)

    with FakeOpenAI(good, refuses=("json_schema",)) as server:
        judge = OpenAIJudge("m", server.url, "key-1", timeout=5, concurrency=3)
        copy = pickle.loads(asyncio.run(used(judge)))
        answer = asyncio.run(copy.ask(QUESTION))
    assert (answer.value, answer.attempts, copy.concurrency, copy.timeout) == (0.2, 1, 3, 5.0)
    assert {request.headers["authorization"] for request in server.requests} == {"Bearer key-1"}


def test_an_answer_can_be_pickled_without_the_key() -> None:
    """What crosses back from a worker holds prompt and reply, never the key."""
    with FakeOpenAI([chat({"score": 0.2})]) as server:
        answer = asyncio.run(OpenAIJudge("m", server.url, "key-12345678").ask(QUESTION))
    data = pickle.dumps(answer)
    assert pickle.loads(data) == answer
    assert b"key-12345678" not in data


def test_only_cancelling_passes_through() -> None:
    """A cancelled question ends as cancelled, frees its slot, and the next one is answered."""

    async def cancelled(server: FakeOpenAI) -> Answer:
        judge = OpenAIJudge("m", server.url, concurrency=1)
        task = asyncio.create_task(judge.ask(QUESTION))
        while not server.in_flight:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await judge.ask(QUESTION)

    with FakeOpenAI([HANG, chat({"score": 0.2})]) as server:
        assert asyncio.run(cancelled(server)).value == 0.2


def test_a_question_under_a_deadline_of_the_callers_is_cut_there() -> None:
    """The caller's own asyncio.timeout is not mistaken for the server's silence."""

    async def hurried(url: str) -> Answer:
        async with asyncio.timeout(0.3):
            return await OpenAIJudge("m", url, timeout=5).ask(QUESTION)

    with FakeOpenAI([HANG]) as server, pytest.raises(TimeoutError):
        asyncio.run(hurried(server.url))


def test_an_abandoned_question_makes_no_noise() -> None:
    """A loop that is stopped in the middle of a question logs nothing about contexts or pending tasks."""
    with FakeOpenAI([HANG]) as server:
        command = [sys.executable, "-W", "error", "-c", ABANDONING, server.url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_the_bound_holds_after_failures_of_every_kind() -> None:
    """deepset-ai/haystack-core-integrations#3695: no failure leaves a slot taken or given back twice."""

    def script(body: dict[str, Any]) -> Reply:
        kinds: list[Reply] = [status(500), status(429, retry_after="0"), HANG, chat(None), chat("hm")]
        kinds += [slow({"score": 0.2}, delay=0.01)] * 5
        with lock:
            turns.append(1)
            return kinds[len(turns) % len(kinds)]

    lock, turns = threading.Lock(), [0]
    with FakeOpenAI(script) as server:
        judge = OpenAIJudge("m", server.url, timeout=0.2, concurrency=3, retry=Retry(first=0.001))
        values = asyncio.run(ask_some(judge, 60))
        assert server.peak == 3
    assert set(values) == {0.2, None}
