"""The scores that these settings make, as score configs of the project would have them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from tracehooks.errors import TracehooksError
from tracehooks.exporters.langfuse.configs import LONGEST_NAME, Config
from tracehooks.exporters.langfuse.sink import PRESCREENS
from tracehooks.scorers.loading import load_scorer, noise_scorer, toxicity_scorer
from tracehooks.settings import Settings

CONFIGURABLE = frozenset({"NUMERIC", "BOOLEAN", "TEXT"})  # categories are not known here


@dataclass(frozen=True, slots=True)
class Expected:
    """One score by name. ``low`` and ``high`` are its range, None where it has no bound."""

    name: str
    data_type: str = "NUMERIC"
    low: float | None = None
    high: float | None = None

    @property
    def can_have_config(self) -> bool:
        """Whether a config for it can be made."""
        return self.data_type in CONFIGURABLE and len(self.name) <= LONGEST_NAME

    def fields(self) -> dict[str, Any]:
        """The config to make for it, but for its name."""
        bounds = {"minValue": self.low, "maxValue": self.high} if self.data_type == "NUMERIC" else {}
        return {
            "dataType": self.data_type,
            **{key: value for key, value in bounds.items() if value is not None},
        }

    def problem(self, config: Config) -> str | None:
        """What some of these scores will be refused for; None when ``config`` takes them all."""
        if config.get("dataType") != self.data_type:
            return f"it takes {config.get('dataType')}, and these are {self.data_type}"
        least, most = config.get("minValue"), config.get("maxValue")
        if least is not None and (self.low is None or self.low < least):
            return f"its minimum is {least:g}, theirs {'open' if self.low is None else f'{self.low:g}'}"
        if most is not None and (self.high is None or self.high > most):
            return f"its maximum is {most:g}, theirs {'open' if self.high is None else f'{self.high:g}'}"
        return None


def expected_scores(settings: Settings) -> list[Expected]:
    """Each score that jobs, hooks and feedback may send, once."""
    found: dict[str, Expected] = {}
    for name, bounds in settings.scores.items():
        found[name] = Expected(name, bounds.data_type, bounds.min, bounds.max)
    for scorer in _scorers(settings):
        low, high = getattr(scorer, "range", None) or (None, None)
        found.setdefault(scorer.name, Expected(scorer.name, "NUMERIC", low, high))
    stay = () if settings.langfuse.prescreen else PRESCREENS
    return [one for name, one in found.items() if name not in stay]


def _scorers(settings: Settings) -> Iterator[Any]:
    makers: list[Callable[[Settings], Any]] = [toxicity_scorer, noise_scorer]
    makers += [partial(load_scorer, hook.scorer) for hook in settings.hooks]
    for make in makers:
        try:
            yield make(settings)
        except TracehooksError:
            continue  # other checks tell of it
