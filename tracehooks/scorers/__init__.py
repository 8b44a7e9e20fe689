"""Scorers: one file each. A name costs its import only when somebody uses it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracehooks.scorers.noise_facts import NoiseFactsScorer
    from tracehooks.scorers.noise_scoring import NoiseScoring, noise_sensitivity_score
    from tracehooks.scorers.noise_sensitivity import NoiseSensitivityScorer
    from tracehooks.scorers.prescreen import PrescreenScorer
    from tracehooks.scorers.toxicity import ToxicityScorer, toxicity_score

__all__ = [
    "NoiseFactsScorer",
    "NoiseScoring",
    "NoiseSensitivityScorer",
    "PrescreenScorer",
    "ToxicityScorer",
    "noise_sensitivity_score",
    "toxicity_score",
]

_HOMES = {
    "NoiseFactsScorer": "tracehooks.scorers.noise_facts",
    "NoiseScoring": "tracehooks.scorers.noise_scoring",
    "NoiseSensitivityScorer": "tracehooks.scorers.noise_sensitivity",
    "PrescreenScorer": "tracehooks.scorers.prescreen",
    "ToxicityScorer": "tracehooks.scorers.toxicity",
    "noise_sensitivity_score": "tracehooks.scorers.noise_scoring",
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
