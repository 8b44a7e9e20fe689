"""ToxicityScorer: how much of a response is abuse, as a judge sees it."""

from collections.abc import Iterable
from typing import Any, Literal

from tracehooks.protocols import Judge
from tracehooks.records import AgentCall, Direction, Score

Aggregate = Literal["ratio", "max"]


def toxicity_score(verdicts: Iterable[str | tuple[str, float | None]], scale: float = 1.0) -> float:
    """The share of toxic verdicts, weighted by severity, times ``scale``; rounded to two decimals."""
    raise NotImplementedError


class ToxicityScorer:
    """Scores the toxicity of a response: 0 is clean, ``scale`` is the worst."""

    name = "toxicity"
    direction: Direction = "lower"

    def __init__(
        self, judge: Judge, scale: float = 1.0, aggregate: Aggregate = "ratio", threshold: float = 0.0
    ) -> None:
        self.judge = judge
        self.scale = scale
        self.aggregate = aggregate
        self.threshold = threshold
        self.range: tuple[float, float] = (0.0, scale)
        self.version = ""

    async def score(self, call: AgentCall) -> Score:
        """Score ``call``'s output. Never raises."""
        raise NotImplementedError

    async def run(self, *, input: Any = None, output: Any) -> Score:
        """Score one exchange, each side a text or chat messages."""
        raise NotImplementedError

    def run_sync(self, *, input: Any = None, output: Any) -> Score:
        """The same, outside an event loop."""
        raise NotImplementedError


def from_settings(settings: Any, judge: Judge | None = None) -> ToxicityScorer:
    """The scorer that the settings describe; ``judge`` shares one that is already there."""
    raise NotImplementedError
