"""A scoring hook: a scorer, and the sample of calls that it scores."""

import fnmatch
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tracehooks.errors import ConfigurationError
from tracehooks.sampling import checked_rate
from tracehooks.scorers.function import as_scorer

if TYPE_CHECKING:
    from tracehooks.settings import Settings

TIMEOUT = 30.0


@dataclass(frozen=True, eq=False)
class ScoringHook:
    """Scores a sample of the calls of whatever it is attached to.

    ``rate`` (0..1) decides from the trace id, so that a trace is in or out alike everywhere. ``timeout`` is
    in seconds, for one score; ``concurrency`` bounds how many calls the scorer works on at once. ``scorer``
    is a Scorer or a plain function ``(call) -> float | Score``::

        @traced(hooks=[ScoringHook(ToxicityScorer(judge), rate=0.1)])
        def answer(question: str) -> str: ...

    Hooks of scorers with the same name share one queue. Raises ValueError for a rate, timeout or concurrency
    that is none.
    """

    scorer: Any
    rate: float = 1.0
    timeout: float = TIMEOUT
    concurrency: int = 8
    agents: tuple[str, ...] = ("*",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scorer", as_scorer(self.scorer))
        object.__setattr__(self, "rate", checked_rate(self.rate))
        if not _is_number(self.timeout) or not 0 < self.timeout < float("inf"):
            raise ConfigurationError(f"timeout must be a number of seconds above 0, got {self.timeout!r}")
        if type(self.concurrency) is not int or self.concurrency < 1:
            raise ConfigurationError(f"concurrency must be a whole number from 1, got {self.concurrency!r}")

    def wants(self, name: str) -> bool:
        """Whether calls of the agent ``name`` are this hook's."""
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.agents)


def hooks_from(settings: "Settings") -> tuple[ScoringHook, ...]:
    """The hooks of the settings, for every agent span that our processor sees, whoever made it.

    Each has the time that all attempts of the judge may take, and as many calls at once as the judge.
    """
    if not settings.hooks:
        return ()
    from tracehooks.scorers.loading import load_scorer

    judge = settings.judge
    return tuple(
        ScoringHook(
            load_scorer(hook.scorer, settings),
            rate=hook.rate,
            agents=hook.agents,
            timeout=max(TIMEOUT, judge.timeout.total_seconds() * judge.attempts),
            concurrency=judge.concurrency,
        )
        for hook in settings.hooks
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
