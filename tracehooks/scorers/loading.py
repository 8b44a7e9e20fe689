"""Scorers by name: our own and those of other packages, through entry points."""

from importlib.metadata import entry_points
from typing import Any

from tracehooks.errors import ConfigurationError
from tracehooks.settings import Settings

GROUP = "tracehooks.scorers"


def load_scorer(name: str, settings: Settings) -> Any:
    """The scorer that is installed under ``name``, made from the settings.

    An entry point of the group ``tracehooks.scorers`` is a callable ``(settings) -> Scorer``.
    Raises ConfigurationError for an unknown name.
    """
    known = {point.name: point for point in entry_points(group=GROUP)}
    if name not in known:
        raise ConfigurationError(f"no scorer is named {name!r}; known are {', '.join(sorted(known))}")
    return known[name].load()(settings)


def noise_scorer(settings: Settings) -> Any:
    """The judge's scorer when a judge is configured, else the facts that the cases declare."""
    return load_scorer("noise_sensitivity" if settings.judge.model else "noise_facts", settings)


def toxicity_scorer(settings: Settings) -> Any:
    """The judge's scorer when a judge is configured, else the local pre-screen, under its own name."""
    return load_scorer("toxicity" if settings.judge.model else "toxicity_prescreen", settings)
