"""Parts for the tests of `evaluate`: a scorer, rows, and a run of them."""

import asyncio
from dataclasses import dataclass
from typing import Any

from tracehooks.evaluation import EvaluationResult, evaluate
from tracehooks.records import AgentCall, Score


@dataclass(frozen=True)
class Length:
    """The length of the output in characters; higher is better."""

    name: str = "length"
    version: str = "1"
    direction: str = "higher"

    async def score(self, call: AgentCall) -> Score:
        return Score.scored(self.name, float(len(call.output or "")))


def run(**options: Any) -> EvaluationResult:
    return asyncio.run(evaluate(**options))


def data_of(count: int = 4) -> list[dict[str, Any]]:
    return [{"input": "x" * n} for n in range(1, count + 1)]
