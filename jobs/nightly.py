"""Both halves of the night: toxicity, then noise, and one verdict over the two."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from tracehooks.errors import ConfigurationError
from tracehooks.gate import combined
from tracehooks.jobs.noise import NoiseNight
from tracehooks.jobs.toxicity import ToxicityNight
from tracehooks.records import Verdict
from tracehooks.store import RunRecord

JOB = "nightly"
Night = TypeVar("Night")


@dataclass(frozen=True, slots=True, kw_only=True)
class Nightly:
    """The two nights, made before either runs. One that could not be made is None, with why in ``errors``."""

    toxicity: ToxicityNight | None
    noise: NoiseNight | None
    errors: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, toxicity: Callable[[], ToxicityNight], noise: Callable[[], NoiseNight]) -> "Nightly":
        """The nights that these make: the one runs, also where the other cannot be loaded.

        Raises ConfigurationError where neither can.
        """
        errors: dict[str, str] = {}
        first, second = _made("toxicity", toxicity, errors), _made("noise", noise, errors)
        if first is None and second is None:
            raise ConfigurationError("; ".join(dict.fromkeys(errors.values())))
        return cls(toxicity=first, noise=second, errors=errors)

    @property
    def nights(self) -> Sequence[ToxicityNight | NoiseNight]:
        """Those that run."""
        return [night for night in (self.toxicity, self.noise) if night is not None]

    def run(self, start: datetime | None = None, end: datetime | None = None) -> tuple[RunRecord, ...]:
        """Run one after the other; ``start`` and ``end`` are those of the toxicity night's window."""
        first = () if self.toxicity is None else (self.toxicity.run(start, end),)
        return first if self.noise is None else (*first, self.noise.run())


def _made(name: str, make: Callable[[], Night], errors: dict[str, str]) -> Night | None:
    try:
        return make()
    except ConfigurationError as error:
        errors[name] = str(error)
        return None


def verdict_of(runs: Iterable[RunRecord]) -> Verdict:
    """Fail before inconclusive before pass over ``runs``; one without a verdict is inconclusive."""
    return combined(run.verdict or Verdict.INCONCLUSIVE for run in runs)
