"""The limiter: how many requests at once, how many a minute, and what a 429 changes."""

import asyncio
import functools
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field

import pytest

from tests.fake_openai import FakeOpenAI, Reply, chat, slow, status
from tracehooks.judges import OpenAIJudge
from tracehooks.judges.limiter import Limiter, Pace
from tracehooks.protocols import Answer, Question
from tracehooks.records import Reason

QUESTION = Question(name="q", instructions="Judge.", material={"response": "hi"}, schema={}, read=dict)


def in_a_loop(test: Callable[[], Coroutine[None, None, None]]) -> Callable[[], None]:
    @functools.wraps(test)
    def run() -> None:
        asyncio.run(test())

    return run


@dataclass
class Time:
    """A clock that goes on only while somebody sleeps."""

    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def test_a_pace_is_even_and_never_exceeded() -> None:
    """600 a minute: each waits a tenth of a second longer; time that nobody used is not saved up."""
    time = Time()
    pace = Pace(600, time)
    assert [round(pace.take(1), 6) for _ in range(4)] == [0, 0.1, 0.2, 0.3]
    time.now = 100
    assert [round(pace.take(1), 6) for _ in range(2)] == [0, 0.1]
    pace.correct(8)
    assert round(pace.take(1), 6) == 1.0


async def _ask(limiter: Limiter, *, limited: bool = False, wait: float | None = None) -> None:
    async with limiter.turn(0) as turn:
        if limited:
            limiter.limited(turn, wait)
        else:
            limiter.answered()


@in_a_loop
async def test_a_429_halves_and_answers_bring_one_back_at_a_time() -> None:
    """16, 8, 4; then five after four answers, six after five more; never above what is configured."""
    limiter = Limiter(16)
    for allowed in (8, 4):
        await _ask(limiter, limited=True)
        assert limiter.allowed == allowed
    for _ in range(4):
        await _ask(limiter)
    assert limiter.allowed == 5
    for _ in range(5):
        await _ask(limiter)
    assert limiter.allowed == 6
    for _ in range(1000):
        await _ask(limiter)
    assert limiter.allowed == 16


@in_a_loop
async def test_429s_of_one_wave_halve_once() -> None:
    """Sixteen requests were under way when the limit was hit: that is one piece of news."""
    limiter, begun, gate = Limiter(16), 0, asyncio.Event()

    async def one() -> None:
        nonlocal begun
        async with limiter.turn(0) as turn:
            begun += 1
            await gate.wait()
            limiter.limited(turn)

    wave = [asyncio.create_task(one()) for _ in range(16)]
    while begun < 16:
        await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(*wave)
    assert limiter.allowed == 8


@in_a_loop
async def test_what_is_allowed_is_what_is_under_way() -> None:
    """After a cut no more than the half get a turn, and after growth one more."""
    limiter = Limiter(4)
    await _ask(limiter, limited=True)
    under_way = peak = 0

    async def one() -> None:
        nonlocal under_way, peak
        async with limiter.turn(0):
            under_way += 1
            peak = max(peak, under_way)
            await asyncio.sleep(0)
            under_way -= 1

    await asyncio.gather(*(one() for _ in range(20)))
    assert peak == 2


@in_a_loop
async def test_a_wait_holds_back_every_request() -> None:
    """Retry-After was said to one request, and is meant for all."""
    time = Time()
    limiter = Limiter(4, clock=time, sleep=time.sleep)
    await _ask(limiter, limited=True, wait=7)
    await _ask(limiter)
    assert time.slept == [7]


@in_a_loop
async def test_requests_a_minute_are_paced() -> None:
    """Ten requests at 60 a minute take nine seconds."""
    time = Time()
    limiter = Limiter(1, requests_per_minute=60, clock=time, sleep=time.sleep)
    for _ in range(10):
        await _ask(limiter)
    assert round(time.now, 6) == 9


@in_a_loop
async def test_tokens_a_minute_go_by_what_was_used() -> None:
    """100 were expected and 600 used: at 600 a minute the next waits a minute, not ten seconds."""
    time = Time()
    limiter = Limiter(1, tokens_per_minute=600, clock=time, sleep=time.sleep)
    async with limiter.turn(100) as turn:
        turn.used = 600
    await _ask(limiter)
    assert round(time.now, 6) == 60


async def _all(judge: OpenAIJudge, number: int) -> list[Answer]:
    return list(await asyncio.gather(*(judge.ask(QUESTION) for _ in range(number))))


@pytest.mark.parametrize("retry_after", [None, "0"])
def test_a_server_with_few_slots_gets_them_all_answered(retry_after: str | None) -> None:
    """A server that takes 3 at a time and answers 429 to the rest: everything is answered in the end."""
    with FakeOpenAI([]) as server:

        def busy(body: object) -> Reply:
            if server.in_flight > 3:
                return status(429, "rate_limit_exceeded", retry_after=retry_after)
            return slow(chat({"ok": 1}), delay=0.01)

        server.script, server._replies = busy, None
        answers = asyncio.run(_all(OpenAIJudge("m", server.url, "k", concurrency=16, attempts=10), 60))
        refused = server.count - 60
    assert [answer.reason for answer in answers] == [None] * 60
    assert refused < 60


def test_two_hundred_rows_keep_to_four_at_once() -> None:
    """deepset-ai/haystack-core-integrations#3695: the peak is 4, the order stays, one failure stays alone."""

    def script(body: dict[str, object]) -> Reply:
        return status(400) if "spoiled" in str(body["messages"]) else chat({"ok": 1})

    async def rows(judge: OpenAIJudge) -> list[Answer]:
        texts = ["spoiled" if n == 77 else f"row {n}" for n in range(200)]
        questions = [
            Question(name="q", instructions="J.", material={"response": text}, schema={}, read=dict)
            for text in texts
        ]
        return list(await asyncio.gather(*map(judge.ask, questions)))

    with FakeOpenAI(script) as server:
        answers = asyncio.run(rows(OpenAIJudge("m", server.url, "k", concurrency=4)))
        assert server.peak <= 4
    assert [n for n, answer in enumerate(answers) if answer.reason] == [77]
    assert answers[77].reason is Reason.REJECTED
