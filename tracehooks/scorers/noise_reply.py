"""What a judge answers about the impact of noise, and how its reply is checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tracehooks.judges.replies import read_choice, read_number, read_text
from tracehooks.protocols import BadReply
from tracehooks.scorers.base import object_schema
from tracehooks.scorers.noise_scoring import IMPACT_LEVELS

DIMENSIONS = ("content_accuracy", "completeness", "relevance", "consistency", "hallucination_resistance")

_TEXT = {"type": "string"}
_DIMENSION = {
    "dimension": {"type": "string", "enum": list(DIMENSIONS)},
    "impact_level": {"type": "string", "enum": list(IMPACT_LEVELS)},
    "specific_changes": _TEXT,
    "noise_influence": _TEXT,
}
REPLY_SCHEMA = object_schema(
    {
        "dimensions": {"type": "array", "items": object_schema(_DIMENSION)},
        "major_issues": {"type": "array", "items": _TEXT},
        "robustness_score": {"type": "number"},
        "overall_assessment": _TEXT,
        "reason": _TEXT,
    }
)


@dataclass(frozen=True, slots=True)
class Impact:
    """What the noise did to one dimension of the answer."""

    dimension: str
    impact_level: str
    specific_changes: str
    noise_influence: str


@dataclass(frozen=True, slots=True)
class NoiseAnalysis:
    """A judge's whole reply, checked: every dimension once."""

    dimensions: tuple[Impact, ...]
    major_issues: tuple[str, ...]
    robustness_score: float
    overall_assessment: str
    reason: str

    @property
    def affected(self) -> list[Impact]:
        """The dimensions with any impact, worst first."""
        found = [impact for impact in self.dimensions if impact.impact_level != "none"]
        return sorted(found, key=lambda impact: IMPACT_LEVELS.index(impact.impact_level), reverse=True)


def read_noise_analysis(reply: Any) -> NoiseAnalysis:
    """A judge's decoded reply as a NoiseAnalysis. Raises BadReply when what a score is made of is missing."""
    issues = reply.get("major_issues")
    if not isinstance(issues, list):
        raise BadReply("`major_issues` must be a list, empty when there is none")
    return NoiseAnalysis(
        dimensions=_impacts(reply.get("dimensions")),
        major_issues=tuple(read_text(issue) for issue in issues),
        robustness_score=read_number(reply.get("robustness_score"), "`robustness_score`", 0, 1),
        overall_assessment=read_text(reply.get("overall_assessment")),
        reason=read_text(reply.get("reason")),
    )


def _impacts(dimensions: Any) -> tuple[Impact, ...]:
    if not isinstance(dimensions, list):
        raise BadReply("`dimensions` must be a list")
    found = [_impact(entry, f"dimensions[{index}]") for index, entry in enumerate(dimensions)]
    named = [impact.dimension for impact in found]
    for name in DIMENSIONS:
        if named.count(name) != 1:
            raise BadReply(
                f"`dimensions` must hold {name} exactly once, it is there {named.count(name)} times"
            )
    return tuple(sorted(found, key=lambda impact: DIMENSIONS.index(impact.dimension)))


def _impact(entry: Any, where: str) -> Impact:
    if not isinstance(entry, Mapping):
        raise BadReply(f"`{where}` must be an object")
    return Impact(
        dimension=read_choice(entry.get("dimension"), f"`{where}.dimension`", DIMENSIONS),
        impact_level=read_choice(entry.get("impact_level"), f"`{where}.impact_level`", IMPACT_LEVELS),
        specific_changes=read_text(entry.get("specific_changes")),
        noise_influence=read_text(entry.get("noise_influence")),
    )
