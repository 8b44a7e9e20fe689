"""The two ends of a batch: questions gathered without asking anybody, and answers handed out for them."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from tracehooks.judges.posting import Letter, posting
from tracehooks.records import AgentCall
from tracehooks.scoring.execute import run_scorer
from tracehooks.store import WorkItem

if TYPE_CHECKING:
    from tracehooks.store import Store

CALLS_AT_ONCE = 200


@dataclass(slots=True)
class Gathering:
    """Takes every question of ``judge``, and keeps all others from being asked."""

    judge: Any
    letters: dict[str, Letter] = field(default_factory=dict)

    def find(self, custom_id: str, question: str) -> Letter | None:
        """None: nothing is answered yet."""
        return None

    def put(self, letter: Letter, judge: Any) -> bool:
        """Keep the question."""
        if judge is self.judge:
            self.letters[letter.custom_id] = letter
        return True


@dataclass(frozen=True, slots=True)
class Replies:
    """Hands out what the batches of a run brought; what they did not is asked live."""

    store: "Store"
    run_id: str

    def find(self, custom_id: str, question: str) -> Letter | None:
        """The answer to exactly this question: with another model, prompt or text it is none."""
        found = self.store.batches.answered(self.run_id, custom_id)
        if found is None or found.question != question:
            return None
        return Letter(
            custom_id=custom_id,
            question=question,
            nonce=found.nonce,
            body=orjson.loads(found.body),
            status=found.status,
            reply=json.loads(found.reply or "null"),
        )

    def put(self, letter: Letter, judge: Any) -> bool:
        """No more goes into a batch."""
        return False


def gather(
    store: "Store", scorer: Any, items: Sequence[WorkItem], prepare: Callable[[AgentCall], AgentCall]
) -> list[Letter]:
    """The questions that ``scorer`` would ask its judge about the calls of ``items``; nobody is asked.

    What is remembered from other runs is no question.
    """
    post = Gathering(scorer.judge)
    with posting(post):
        for start in range(0, len(items), CALLS_AT_ONCE):
            calls = store.calls.get_many([item.ref for item in items[start : start + CALLS_AT_ONCE]])
            asyncio.run(_ask(scorer, [prepare(call) for call in calls.values()]))
    return list(post.letters.values())


async def _ask(scorer: Any, calls: Sequence[AgentCall]) -> None:
    await asyncio.gather(*(run_scorer(scorer, call) for call in calls))
