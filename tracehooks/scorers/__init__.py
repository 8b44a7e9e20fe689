"""Scorers: one file each. A name costs its import only when somebody uses it."""

from importlib import import_module
from typing import Any

_HOMES: dict[str, str] = {
    "PrescreenScorer": "tracehooks.scorers.prescreen",
    "ToxicityScorer": "tracehooks.scorers.toxicity",
    "toxicity_score": "tracehooks.scorers.toxicity",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tracehooks.scorers' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
