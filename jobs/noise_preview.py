"""What a noise run would do, before it does it."""

from collections.abc import Mapping
from dataclasses import dataclass

from tracehooks.scoring.estimating import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisePreview:
    """Whom a noise run would ask, how often, and how many answers a judge would get to see.

    ``datasets`` maps names to content hashes, ``by_type`` noise types to variants. ``emptiness`` says why
    there is nothing to ask, if so. ``reference`` is the id of the one in force, ``incomparable`` what keeps
    the run from being compared with it. ``canaries`` counts the frozen texts that the judge is given too.
    """

    agent: str
    agent_version: str | None
    datasets: Mapping[str, str]
    cases: int
    variants: int
    repeats: int
    by_type: Mapping[str, int]
    score_name: str
    scorer_version: str
    judge_model: str | None
    emptiness: str
    reference: str | None
    incomparable: tuple[str, ...]
    estimate: Estimate | None = None
    canaries: int = 0

    @property
    def asks(self) -> int:
        """Calls of the agent."""
        return self.variants * self.repeats

    @property
    def judge_calls(self) -> int:
        """Requests to a judge, when none has to be repeated; 0 when declared facts decide."""
        return self.asks if self.judge_model else 0
