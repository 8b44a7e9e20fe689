"""What an evaluation found: each item, each score's mean with n of n, and the verdict."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracehooks.evaluation.thresholds import Threshold
from tracehooks.records import AgentCall, Score, Status, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemResult:
    """One input: what the target said (``output``), or how it failed (``error``), and all its scores."""

    index: int
    input: Any
    output: Any = None
    error: str | None = None
    call: AgentCall
    scores: Mapping[str, Score]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreSummary:
    """One scorer over all items. ``mean`` is over the scored ones, None when there are none.

    ``planned`` = scored + unscored + skipped, so that a mean never hides what it leaves out.
    """

    name: str
    mean: float | None
    scored: int
    planned: int
    unscored: Mapping[str, int]
    skipped: Mapping[str, int]
    threshold: Threshold | None
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationResult:
    """``scores`` by name, ``items`` in the order of the data, and the verdict over all of them."""

    scores: Mapping[str, ScoreSummary]
    items: Sequence[ItemResult]
    verdict: Verdict

    @property
    def reasons(self) -> list[str]:
        """Why, one sentence for each score."""
        return [summary.reason for summary in self.scores.values()]

    def __rich__(self) -> Any:
        """A table for the terminal, and below it why it is no pass."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(title=f"{self.verdict.upper()}: {len(self.items)} items", title_justify="left")
        for heading in ("score", "mean", "scored", "threshold", "verdict", "not scored"):
            table.add_column(heading, overflow="fold")
        for one in self.scores.values():
            missing = {**one.unscored, **one.skipped}
            table.add_row(
                Text(one.name),
                "-" if one.mean is None else f"{one.mean:.3f}",
                f"{one.scored} of {one.planned}",
                str(one.threshold or "-"),
                str(one.verdict),
                "\n".join(f"{n} {reason}" for reason, n in sorted(missing.items())) or "-",
            )
        reasons = [one.reason for one in self.scores.values() if one.verdict is not Verdict.PASS]
        return Group(table, *(Text(reason) for reason in reasons))

    def __str__(self) -> str:
        from io import StringIO

        from rich.console import Console

        text = StringIO()
        Console(file=text, width=100).print(self)
        return text.getvalue().rstrip()


def summary_of(
    name: str, items: Sequence[ItemResult], threshold: Threshold | None, min_coverage: float
) -> ScoreSummary:
    """The score ``name`` over all items, and whether its mean keeps to ``threshold``."""
    scores = [item.scores[name] for item in items]
    values = [
        float(s.value) for s in scores if s.status is Status.SCORED and not isinstance(s.value, str | None)
    ]
    mean = sum(values) / len(values) if values else None
    by_status = {
        status: Counter(str(score.reason_code) for score in scores if score.status is status)
        for status in (Status.UNSCORED, Status.SKIPPED)
    }
    scored = sum(score.status is Status.SCORED for score in scores)
    wanted = scored + by_status[Status.UNSCORED].total()
    verdict, reason = _ruling(name, mean, scored, wanted, threshold, min_coverage)
    return ScoreSummary(
        name=name,
        mean=mean,
        scored=scored,
        planned=len(scores),
        unscored=by_status[Status.UNSCORED],
        skipped=by_status[Status.SKIPPED],
        threshold=threshold,
        verdict=verdict,
        reason=reason,
    )


def _ruling(
    name: str, mean: float | None, scored: int, wanted: int, threshold: Threshold | None, min_coverage: float
) -> tuple[Verdict, str]:
    if not wanted:
        return Verdict.INCONCLUSIVE, f"{name}: no_data: there was nothing to score"
    if scored < min_coverage * wanted:
        return (
            Verdict.INCONCLUSIVE,
            f"{name}: coverage: {scored} of {wanted} scored, {min_coverage:.0%} needed",
        )
    if threshold is None:
        return Verdict.PASS, f"{name}: {scored} of {wanted} scored, no threshold given"
    if mean is None:
        return Verdict.INCONCLUSIVE, f"{name}: its values are no numbers, so a threshold decides nothing"
    allowed = threshold.allows(mean)
    reason = f"{name}: mean {mean:.4g} of {scored} scored ({wanted} wanted), threshold {threshold}"
    return (Verdict.PASS if allowed else Verdict.FAIL), reason
