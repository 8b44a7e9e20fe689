"""The rows of a noise run, one for each answer to a variant, and what they add up to.

A mean never hides what it leaves out: beside it stand how many rows were scored, how many were wanted, and
why the others have no score.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tracehooks.errors import ConfigurationError
from tracehooks.records import Direction, Reason, Score, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreKind:
    """What a gate must know about a score: which way is better, and its lowest and highest value.

    The range may be None: then rows without a score have no bounds, and no verdict may hang on them.
    Raises ConfigurationError for a score that does not declare its direction: it is never guessed.
    """

    name: str
    direction: Direction
    range: tuple[float, float] | None = (0.0, 1.0)

    def __post_init__(self) -> None:
        if self.direction not in ("lower", "higher"):
            raise ConfigurationError(
                f"score {self.name!r} declares no direction, so a gate cannot tell better from worse: set "
                f"direction to lower or higher on its scorer, or scores.{self.name}.direction in the settings"
            )

    @classmethod
    def of(cls, scorer: object) -> "ScoreKind":
        """The kind of the scores that ``scorer`` makes."""
        bounds: Any = getattr(scorer, "range", None) or (None, None)
        known = None not in bounds
        return cls(
            name=str(getattr(scorer, "name", "")),
            direction=getattr(scorer, "direction", None),  # type: ignore[arg-type]  # checked above
            range=(float(bounds[0]), float(bounds[1])) if known else None,
        )

    @property
    def sign(self) -> float:
        """1 where higher is better, else -1: ``sign * (reference - candidate)`` is how much was lost."""
        return 1.0 if self.direction == "higher" else -1.0

    @property
    def worst(self) -> float:
        """The worst value a score can have; infinite without a range."""
        low, high = self.range or (float("-inf"), float("inf"))
        return low if self.direction == "higher" else high

    @property
    def best(self) -> float:
        """The best value a score can have; infinite without a range."""
        low, high = self.range or (float("-inf"), float("inf"))
        return high if self.direction == "higher" else low

    def reaches(self, value: float, bound: float) -> bool:
        """Whether ``value`` is at least as good as ``bound``."""
        return self.sign * value >= self.sign * bound - 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseRow:
    """One answer to one variant: its score, or why it has none.

    ``case`` is the base question (with its dataset's name before it where there are several), ``variant`` is
    unique within it, ``repeat`` counts from 0. ``min_score`` is the case's own bound, if it has one.
    """

    case: str
    variant: str
    noise_type: str
    repeat: int = 0
    value: float | None = None
    reason: Reason | None = None
    min_score: float | None = None

    def __post_init__(self) -> None:
        if (self.value is None) == (self.reason is None):
            raise ValueError("a row has either a value or a reason why there is none")

    @classmethod
    def of(
        cls,
        score: Score,
        *,
        case: str,
        variant: str,
        noise_type: str,
        repeat: int = 0,
        min_score: float | None = None,
    ) -> "NoiseRow":
        """The row of ``score``. Raises ValueError when its value is no number."""
        value = score.value if score.status is Status.SCORED else None
        if isinstance(value, str):
            raise ValueError(f"{score.name}: the gate compares numbers, got {value!r}")
        return cls(
            case=case,
            variant=variant,
            noise_type=noise_type,
            repeat=repeat,
            value=value,
            reason=score.reason_code,
            min_score=min_score,
        )

    @property
    def applicable(self) -> bool:
        """Whether the row could have had a score at all. An answer without text could: it is a silence."""
        return self.reason is not Reason.NOT_APPLICABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSummary:
    """What rows add up to: ``planned`` = ``scored`` + unscored + skipped.

    ``mean``, ``low`` and ``high`` are over the scored rows, None when there are none. ``reached`` counts
    rows whose score reaches their minimum.
    """

    planned: int
    scored: int
    mean: float | None
    low: float | None
    high: float | None
    reached: int
    unscored: Mapping[str, int] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)

    @property
    def wanted(self) -> int:
        """The rows that should have a score: all but those that no fact or question applies to.

        A silence is wanted too, for an agent that falls silent under noise has not withstood it.
        """
        return self.planned - self.skipped.get(Reason.NOT_APPLICABLE, 0)

    @property
    def coverage(self) -> float | None:
        """The share of the wanted rows that were scored; None when none was wanted."""
        return self.scored / self.wanted if self.wanted else None

    @property
    def partial(self) -> bool:
        """Whether the mean leaves wanted rows out."""
        return self.scored < self.wanted

    @property
    def success_rate(self) -> float | None:
        """The share of the wanted rows that were scored and reach their minimum."""
        return self.reached / self.wanted if self.wanted else None


def summarize(rows: Iterable[NoiseRow], kind: ScoreKind, min_score: float) -> RowSummary:
    """What ``rows`` add up to; ``min_score`` is for those that have no bound of their own."""
    all_rows = list(rows)
    values = [row.value for row in all_rows if row.value is not None]
    reasons = Counter(row.reason for row in all_rows if row.reason is not None)
    skips = (Reason.NO_TEXT, Reason.NOT_APPLICABLE)
    return RowSummary(
        planned=len(all_rows),
        scored=len(values),
        mean=sum(values) / len(values) if values else None,
        low=min(values, default=None),
        high=max(values, default=None),
        reached=sum(
            row.value is not None and kind.reaches(row.value, bound_of(row, min_score)) for row in all_rows
        ),
        unscored={str(reason): n for reason, n in sorted(reasons.items()) if reason not in skips},
        skipped={str(reason): n for reason, n in sorted(reasons.items()) if reason in skips},
    )


def bound_of(row: NoiseRow, min_score: float) -> float:
    """The minimum that ``row`` has to reach: its own, or ``min_score``."""
    return min_score if row.min_score is None else row.min_score


def by_type(rows: Iterable[NoiseRow]) -> dict[str, Sequence[NoiseRow]]:
    """The rows of each noise type, types in alphabetical order."""
    found: dict[str, list[NoiseRow]] = {}
    for row in rows:
        found.setdefault(row.noise_type, []).append(row)
    return dict(sorted(found.items()))
