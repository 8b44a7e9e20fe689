"""A sender in a process of its own, ``CONFIG NAME COUNT``: asks the judge COUNT times, all at once."""

import asyncio
import sys
from datetime import UTC, datetime

from tracehooks.judges import OpenAIJudge
from tracehooks.judges.terms import under
from tracehooks.protocols import Question
from tracehooks.scoring.spending import Spending
from tracehooks.settings import load_settings
from tracehooks.store import open_store


async def ask(judge: OpenAIJudge, name: str, count: int) -> None:
    question = Question(
        name="q", instructions="Judge.", material={"sender": f"sender-{name}"}, schema={}, read=dict
    )
    answers = await asyncio.gather(*(judge.ask(question) for _ in range(count)))
    assert all(answer.reason is None for answer in answers), answers


def main(config: str, name: str, count: str) -> None:
    settings = load_settings(config)
    with open_store(settings.store) as store:
        terms = Spending(
            store=store, settings=settings, price=None, run=None, clock=lambda: datetime.now(UTC)
        )
        with under(terms):
            asyncio.run(ask(OpenAIJudge.from_settings(settings.judge), name, int(count)))


if __name__ == "__main__":
    main(*sys.argv[1:])
