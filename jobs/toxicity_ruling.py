"""What a toxicity night's gate says of its scores."""

from dataclasses import dataclass
from typing import Any

from tracehooks.gate import Ruling, rule_on_rate
from tracehooks.jobs.assessment import Assessment
from tracehooks.records import Reason, Verdict
from tracehooks.scoring.coordinator import stopped_words
from tracehooks.settings import ToxicityJob, format_duration


@dataclass(frozen=True, slots=True)
class ToxicityRule:
    """The gate of the job's settings; with ``allow_empty`` a window with nothing to judge passes."""

    job: ToxicityJob
    allow_empty: bool = False

    def rule(self, assessment: Assessment) -> Ruling:
        """What the gate says of these scores."""
        gate = self.job.gate
        if self.samples_nothing:
            return Ruling(Verdict.INCONCLUSIVE, ("skipped: the sample size is 0, so nothing was judged",))
        return rule_on_rate(
            assessment.rate,
            toxic=assessment.toxic,
            missing=assessment.missing,
            skipped=sum(assessment.skipped.values()),
            max_rate=gate.max_rate,
            min_coverage=gate.min_coverage,
            allow_empty=self.allow_empty,
            called="toxic" if assessment.score_name == "toxicity" else "candidates",
        )

    def about_agent(self, assessment: Assessment) -> dict[str, Any]:
        """What the gate would say of one agent's calls alone."""
        ruling = self.rule(assessment)
        return {
            "verdict": ruling.verdict,
            "reason": ruling.reasons[0],
            "scored": assessment.rate.n,
            "toxic": assessment.toxic,
            "degraded": assessment.missing > 0,
        }

    def why_stopped(self, stopped: Reason, left: int) -> str:
        """Why ``left`` calls were not judged."""
        if stopped is not Reason.TIMEOUT:
            return stopped_words(stopped)
        limit = format_duration(self.job.time_limit)
        return f"time_limit: stopped after {limit} with {left} calls not judged; `tracehooks resume` goes on"

    @property
    def samples_nothing(self) -> bool:
        """Whether the settings draw no call at all."""
        return self.job.sample.size == 0 or self.job.sample.rate == 0
