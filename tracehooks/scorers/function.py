"""A plain function as a scorer: ``(call) -> float | Score``, sync or async."""

import hashlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tracehooks.errors import ConfigurationError
from tracehooks.protocols import Scorer
from tracehooks.records import AgentCall, Direction, Score, is_blank
from tracehooks.threads import DaemonThreads


@dataclass(frozen=True)
class FunctionScorer:
    """Makes a function a scorer. It runs in a thread when it is not async, so that it holds nobody up.

    ``direction`` says which way is better; a gate on the score needs it.
    """

    function: Callable[[AgentCall], Any]
    name: str = ""
    direction: Direction | None = None
    range: tuple[float, float] | None = None
    threads: DaemonThreads = field(default_factory=DaemonThreads, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", getattr(self.function, "__name__", type(self.function).__name__))

    @property
    def version(self) -> str:
        """A hash of the function's code, 12 hex digits."""
        code = getattr(self.function, "__code__", None)
        seed = f"{self.name}|{code.co_code.hex()}|{code.co_consts!r}" if code else self.name
        return hashlib.sha256(seed.encode("utf-8", "replace")).hexdigest()[:12]

    async def score(self, call: AgentCall) -> Score:
        """Whatever the function returns, as a Score. Raises InvalidScoreError when it is not one."""
        if inspect.iscoroutinefunction(self.function) or inspect.iscoroutinefunction(
            getattr(self.function, "__call__", None)  # noqa: B004 - a callable object may be async
        ):
            result = await self.function(call)
        else:
            result = await self.threads.run(self.function, call)
            if inspect.isawaitable(result):  # an async function behind a lambda or a plain decorator
                result = await result
        return result if isinstance(result, Score) else Score.scored(self.name, result)


def as_scorer(scorer: Any) -> Any:
    """``scorer`` itself, or the function wrapped. Raises ConfigurationError for anything else."""
    if isinstance(scorer, Scorer) or (hasattr(scorer, "score") and hasattr(scorer, "name")):
        if not isinstance(scorer.name, str) or is_blank(scorer.name):
            raise ConfigurationError(f"{scorer!r} has no name: its scores go by it, got {scorer.name!r}")
        return scorer
    if callable(scorer):
        return FunctionScorer(scorer)
    raise ConfigurationError(
        f"{scorer!r} is not a scorer: it needs name, version, direction and score(call), or be a function"
    )
