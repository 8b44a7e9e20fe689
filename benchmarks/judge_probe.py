"""CPU of a judged item, in turns with the plain openai client asking the very same.

``python -m benchmarks.judge_probe URL`` prints one JSON line a round: CPU seconds of an item, both ways.
"""

import argparse
import asyncio
import gc
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import openai

from benchmarks.workloads import TEXT
from tests.fake_openai import FakeOpenAI, ToxicWords
from tracehooks.judges import OpenAIJudge
from tracehooks.records import AgentCall
from tracehooks.scorers import ToxicityScorer

CALL = AgentCall(input="How do I reset it?", output=TEXT)
One = Callable[[], Awaitable[Any]]


def request_body() -> dict[str, Any]:
    """What our judge sends for the call."""
    with FakeOpenAI(ToxicWords(["idiot"])) as server:
        asyncio.run(ToxicityScorer(OpenAIJudge("bench", server.url, "key")).score(CALL))
        return server.requests[0].body


async def rounds(
    url: str, body: dict[str, Any], concurrency: int, items: int, count: int
) -> AsyncIterator[dict[str, float]]:
    """Each round the same items both ways, every other round in the opposite order."""
    judge = OpenAIJudge("bench", url, "key", concurrency=concurrency)
    scorer = ToxicityScorer(judge)
    client = openai.AsyncOpenAI(base_url=url, api_key="key", max_retries=0)
    room = asyncio.Semaphore(concurrency)

    async def ours() -> None:
        score = await scorer.score(CALL)
        assert score.value == 0.0, score

    async def theirs() -> None:
        async with room:
            await client.chat.completions.create(**body)

    ways: dict[str, One] = {"ours": ours, "theirs": theirs}
    for one in ways.values():  # connections, lazy imports, specialised bytecode
        await _turn(one, max(items // 4, concurrency))
    for number in range(count):
        names = list(ways) if number % 2 == 0 else list(reversed(ways))
        taken = {name: await _turn(ways[name], items) for name in names}
        yield taken
    await judge.aclose()
    await client.close()


async def _turn(one: One, items: int) -> float:
    gc.collect()
    gc.freeze()
    before = time.process_time()
    await asyncio.gather(*(one() for _ in range(items)))
    taken = time.process_time() - before
    gc.unfreeze()
    return taken / items


async def _print(url: str, body: dict[str, Any], options: argparse.Namespace) -> None:
    async for taken in rounds(url, body, options.concurrency, options.items, options.rounds):
        print(json.dumps(taken), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judge_probe", description=__doc__)
    parser.add_argument("url", help="base URL of an OpenAI-compatible server")
    parser.add_argument("--concurrency", type=int, default=50)
    parser.add_argument("--items", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    asyncio.run(_print(options.url, request_body(), options))


if __name__ == "__main__":
    main()
