"""What a toxicity night would do."""

from dataclasses import dataclass

from tracehooks.scoring import Window
from tracehooks.scoring.estimating import Estimate


@dataclass(frozen=True, slots=True)
class Preview:
    """What a run would do: the window, the counts, and how many calls a scorer would be asked about."""

    window: Window
    note: str
    score_name: str
    scorer_version: str
    judge_model: str | None
    counts: dict[str, int]
    estimate: Estimate | None = None
    canaries: int = 0

    @property
    def judge_calls(self) -> int:
        """Requests to a judge, when none has to be repeated; 0 when the local pre-screen scores."""
        return self.counts["planned"] if self.judge_model else 0
