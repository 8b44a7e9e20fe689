"""Both halves of the night: toxicity, then noise, and one verdict over the two."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from tracehooks.gate import combined
from tracehooks.jobs.noise import NoiseNight
from tracehooks.jobs.toxicity import ToxicityNight
from tracehooks.records import Verdict
from tracehooks.store import RunRecord

JOB = "nightly"


@dataclass(frozen=True, slots=True, kw_only=True)
class Nightly:
    """The two nights, made before either runs: wrong settings are found before anybody is asked."""

    toxicity: ToxicityNight
    noise: NoiseNight

    def run(self, start: datetime | None = None, end: datetime | None = None) -> tuple[RunRecord, RunRecord]:
        """Run one after the other; ``start`` and ``end`` are those of the toxicity night's window."""
        return self.toxicity.run(start, end), self.noise.run()


def verdict_of(runs: Iterable[RunRecord]) -> Verdict:
    """Fail before inconclusive before pass over ``runs``; one without a verdict is inconclusive."""
    return combined(run.verdict or Verdict.INCONCLUSIVE for run in runs)
