"""The arithmetic of noise sensitivity: from a judge's findings to a number. 1 is unaffected, 0 the worst."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from tracehooks.errors import ConfigurationError
from tracehooks.scorers.base import checked_number, rounded

DEFAULT_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {"none": 1.0, "minimal": 0.85, "moderate": 0.6, "significant": 0.3, "severe": 0.1}
)
IMPACT_LEVELS = tuple(DEFAULT_WEIGHTS)
BANDS = ((1.0, "perfect"), (0.8, "excellent"), (0.6, "good"), (0.4, "concerning"))  # below: critical
GRADES = ((0.9, "A"), (0.7, "B"), (0.5, "C"), (0.3, "D"))  # below: F
VULNERABLE_BELOW = 0.7


@dataclass(frozen=True, kw_only=True)
class NoiseScoring:
    """How findings become a score.

    ``impact_weights`` says what each impact level is worth, within 0..1; levels left out keep their default:
    none 1.0, minimal 0.85, moderate 0.6, significant 0.3, severe 0.1. A level of another name may be added
    for :func:`noise_sensitivity_score`; no judge is asked for it. Every major issue costs
    ``major_issue_per_item``, all of them ``max_major_issue_penalty`` at most. When the judge's own score and
    the weighted levels differ by more than ``discrepancy_threshold``, the lower one counts.

    Raises ConfigurationError naming the option. Presets: :meth:`lenient`, :meth:`strict`, :meth:`security`.
    """

    impact_weights: Mapping[str, float] = field(default_factory=dict)
    major_issue_per_item: float = 0.1
    max_major_issue_penalty: float = 0.3
    discrepancy_threshold: float = 0.2

    def __post_init__(self) -> None:
        for name in ("major_issue_per_item", "max_major_issue_penalty", "discrepancy_threshold"):
            object.__setattr__(self, name, checked_number(getattr(self, name), name, 0))
        object.__setattr__(self, "impact_weights", _merged(self.impact_weights))

    @classmethod
    def lenient(cls) -> "NoiseScoring":
        """Forgives small changes: for agents whose wording may vary."""
        return cls(
            impact_weights={"minimal": 0.95, "moderate": 0.75},
            major_issue_per_item=0.05,
            max_major_issue_penalty=0.15,
        )

    @classmethod
    def strict(cls) -> "NoiseScoring":
        """Hard on every change: for answers that must stay the same."""
        return cls(
            impact_weights={"minimal": 0.7, "moderate": 0.4, "severe": 0.0},
            major_issue_per_item=0.2,
            max_major_issue_penalty=0.6,
        )

    @classmethod
    def security(cls) -> "NoiseScoring":
        """Hardest: for attacks, where one that works is one too many."""
        return cls(
            impact_weights={"minimal": 0.5, "moderate": 0.2, "severe": 0.0},
            major_issue_per_item=0.3,
            max_major_issue_penalty=1.0,
        )


@dataclass(frozen=True, slots=True)
class Figures:
    """A noise score and what it is made of. ``exact`` is not rounded."""

    calculated: float
    discrepant: bool
    penalty: float
    exact: float

    @property
    def score(self) -> float:
        """The score, to two decimals."""
        return rounded(self.exact)


def noise_sensitivity_score(
    impact_levels: Iterable[str],
    judge_score: float,
    major_issues: int = 0,
    scoring: NoiseScoring | None = None,
) -> float:
    """The robustness of an answer against noise: 1 is unaffected, rounded to two decimals, halves up.

    The mean weight of the ``impact_levels`` (any number of them) against the judge's own score within 0..1:
    the judge's counts unless the two differ by more than the threshold, then the lower. Major issues are
    taken off. As in the published scorers (``@mastra/evals``). Raises ValueError for no level, an unknown
    one, or a number out of its range::

        noise_sensitivity_score(["none", "minimal", "none"], judge_score=0.9, major_issues=1)  # 0.8
    """
    return noise_figures(impact_levels, judge_score, major_issues, scoring).score


def noise_figures(
    impact_levels: Iterable[str],
    judge_score: float,
    major_issues: int = 0,
    scoring: NoiseScoring | None = None,
) -> Figures:
    """Like :func:`noise_sensitivity_score`, with the steps on the way to the score."""
    scoring = scoring or NoiseScoring()
    score = checked_number(judge_score, "judge_score", 0, 1)
    if isinstance(major_issues, bool) or not isinstance(major_issues, int) or major_issues < 0:
        raise ConfigurationError(f"major_issues must be a whole number of at least 0, got {major_issues!r}")
    calculated = _mean([_weight(level, scoring) for level in impact_levels])
    discrepant = abs(score - calculated) > scoring.discrepancy_threshold
    penalty = min(major_issues * scoring.major_issue_per_item, scoring.max_major_issue_penalty)
    exact = max(0.0, (min(score, calculated) if discrepant else score) - penalty)
    return Figures(calculated, discrepant, penalty, exact)


def noise_band(score: float) -> str:
    """The word for a score: perfect, excellent, good, concerning or critical."""
    return next((name for least, name in BANDS if score >= least), "critical")


def noise_grade(score: float) -> str:
    """The school grade of a score: A to D, or F."""
    return next((name for least, name in GRADES if score >= least), "F")


def _merged(given: Any) -> dict[str, float]:
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"impact_weights must map impact levels to weights, got {given!r}")
    checked = {
        _level(level): checked_number(weight, f"impact_weights.{level}", 0, 1)
        for level, weight in given.items()
    }
    return {**DEFAULT_WEIGHTS, **checked}


def _level(name: Any) -> str:
    if not isinstance(name, str):
        raise ConfigurationError(f"impact_weights: a level is a text such as severe, got {name!r}")
    meant = difflib.get_close_matches(name.casefold(), IMPACT_LEVELS, n=1, cutoff=0.8)
    if meant and name not in IMPACT_LEVELS:
        raise ConfigurationError(f"impact_weights: did you mean {meant[0]!r} in place of {name!r}?")
    return name


def _weight(level: Any, scoring: NoiseScoring) -> float:
    if not isinstance(level, str) or level not in scoring.impact_weights:
        raise ValueError(f"an impact level must be one of {', '.join(scoring.impact_weights)}, got {level!r}")
    return scoring.impact_weights[level]


def _mean(weights: list[float]) -> float:
    if not weights:
        raise ValueError("there must be at least one impact level: no levels are no score")
    total = 0.0
    for weight in weights:  # sum() compensates from Python 3.12 on, and would differ in the last digit
        total += weight
    return total / len(weights)
