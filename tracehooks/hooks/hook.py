"""A scoring hook: a scorer, and the sample of calls that it scores."""

import fnmatch
from dataclasses import dataclass
from typing import Any

from tracehooks.errors import ConfigurationError
from tracehooks.sampling import checked_rate
from tracehooks.scorers.function import as_scorer
from tracehooks.scorers.loading import load_scorer
from tracehooks.settings import Settings


@dataclass(frozen=True, eq=False)
class ScoringHook:
    """Scores a sample of the calls of whatever it is attached to.

    ``rate`` (0..1) decides from the trace id, so that a trace is in or out alike everywhere. ``timeout`` is
    in seconds, for one score; ``concurrency`` bounds how many calls the scorer works on at once. ``scorer``
    is a Scorer or a plain function ``(call) -> float | Score``::

        @traced(hooks=[ScoringHook(ToxicityScorer(judge), rate=0.1)])
        def answer(question: str) -> str: ...

    Raises ValueError for a rate, timeout or concurrency that is none.
    """

    scorer: Any
    rate: float = 1.0
    timeout: float = 30.0
    concurrency: int = 8
    agents: tuple[str, ...] = ("*",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scorer", as_scorer(self.scorer))
        object.__setattr__(self, "rate", checked_rate(self.rate))
        if not _is_number(self.timeout) or not 0 < self.timeout < float("inf"):
            raise ConfigurationError(f"timeout must be a number of seconds above 0, got {self.timeout!r}")
        if not _is_number(self.concurrency) or self.concurrency < 1:
            raise ConfigurationError(f"concurrency must be at least 1, got {self.concurrency!r}")

    def wants(self, name: str) -> bool:
        """Whether calls of the agent ``name`` are this hook's."""
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.agents)


def hooks_from(settings: Settings) -> tuple[ScoringHook, ...]:
    """The hooks of the settings, for every agent span that our processor sees, whoever made it."""
    return tuple(
        ScoringHook(load_scorer(hook.scorer, settings), rate=hook.rate, agents=hook.agents)
        for hook in settings.hooks
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
