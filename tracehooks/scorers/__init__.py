"""Scorers: one file each. A name costs its import only when somebody uses it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracehooks.scorers.prescreen import PrescreenScorer
    from tracehooks.scorers.toxicity import ToxicityScorer, toxicity_score

__all__ = ["PrescreenScorer", "ToxicityScorer", "toxicity_score"]

_HOMES = {
    "PrescreenScorer": "tracehooks.scorers.prescreen",
    "ToxicityScorer": "tracehooks.scorers.toxicity",
    "toxicity_score": "tracehooks.scorers.toxicity",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tracehooks.scorers' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
