"""What a mean must keep to, and which way is bad."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracehooks.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Threshold:
    """Bounds on a mean, both inclusive; None is without bound."""

    min: float | None = None
    max: float | None = None

    def allows(self, mean: float) -> bool:
        """Whether ``mean`` lies within."""
        return (self.min is None or mean >= self.min) and (self.max is None or mean <= self.max)

    def __str__(self) -> str:
        if self.min is not None and self.max is not None:
            return f"{self.min:g} to {self.max:g}"
        if self.min is not None:
            return f"at least {self.min:g}"
        return "any" if self.max is None else f"at most {self.max:g}"


def thresholds_of(given: Mapping[str, Any], scorers: Sequence[Any]) -> dict[str, Threshold]:
    """The thresholds by score name. Raises ConfigurationError for one that cannot be meant."""
    known = {scorer.name: scorer for scorer in scorers}
    for name in given:
        if name not in known:
            raise ConfigurationError(
                f"thresholds[{name!r}]: no scorer has this name; known: {', '.join(known)}"
            )
    return {name: _threshold(name, value, known[name]) for name, value in given.items()}


def _threshold(name: str, value: Any, scorer: Any) -> Threshold:
    if isinstance(value, Threshold):
        return value
    if isinstance(value, Mapping):
        unknown = set(value) - {"min", "max"}
        if unknown or not value:
            raise ConfigurationError(f"thresholds[{name!r}] takes min and max, got {dict(value)!r}")
        low, high = (_number(name, value[key]) if key in value else None for key in ("min", "max"))
        if low is not None and high is not None and low > high:
            raise ConfigurationError(f"thresholds[{name!r}]: min {low:g} is above max {high:g}")
        return Threshold(low, high)
    bound = _number(name, value)
    direction = getattr(scorer, "direction", None)
    if direction not in ("lower", "higher"):
        raise ConfigurationError(
            f"thresholds[{name!r}]: the scorer declares no direction, so {bound:g} may be a minimum or a"
            ' maximum; give {"min": ...} or {"max": ...}, or declare a direction'
        )
    return Threshold(max=bound) if direction == "lower" else Threshold(min=bound)


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < float("inf"):
        raise ConfigurationError(f"thresholds[{name!r}] must be a finite number, got {value!r}")
    return float(value)
