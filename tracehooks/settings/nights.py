"""The settings of the jobs, and of the process that runs them when they are due."""

from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from tracehooks.settings.schedules import parse_schedule
from tracehooks.settings.section import Section
from tracehooks.settings.selection import FilterSettings, SampleSettings
from tracehooks.settings.values import Duration, Fraction, TimeZone, parse_duration


class ToxicityGate(Section):
    """Passes when the rate of toxic calls is surely at most ``max_rate``."""

    max_rate: Fraction = 0.05
    min_coverage: Fraction = 0.9


class NoiseGate(Section):
    """Passes when no noise type lost more than ``margin`` and every case reaches its minimum score."""

    margin: Fraction = 0.05
    min_score: Fraction = 0.7
    min_coverage: Fraction = 0.9


def _window(value: Any) -> Any:
    return value if value in ("since_last", "all") else parse_duration(value)


def _schedule(value: Any) -> Any:
    if isinstance(value, str):
        parse_schedule(value)
    return value


class _Job(Section):
    """What all jobs have: when they are due, in which zone, how late they may begin, how long they may take.

    ``schedule`` is five cron fields or ``every 6h``; None keeps ``tracehooks schedule`` from running the job.
    With ``batch`` the judge's provider answers in a batch, for which a run waits so long at most.
    """

    schedule: Annotated[str, BeforeValidator(_schedule)] | None = None
    timezone: TimeZone = "UTC"
    grace: Annotated[Duration, Field(gt=timedelta(0))] = timedelta(hours=12)
    time_limit: Annotated[Duration, Field(gt=timedelta(0))] = timedelta(hours=4)
    batch: Annotated[Duration, Field(gt=timedelta(0))] | None = None


class ToxicityJob(_Job):
    """The toxicity night."""

    schedule: Annotated[str, BeforeValidator(_schedule)] | None = "0 2 * * *"
    window: Annotated[Literal["since_last", "all"] | Duration, BeforeValidator(_window)] = "since_last"
    max_window: Duration = timedelta(days=7)
    settle: Duration = timedelta(minutes=10)
    sample: SampleSettings = SampleSettings(size=300)
    filters: FilterSettings = FilterSettings()
    gate: ToxicityGate = ToxicityGate()


class NoiseJob(_Job):
    """The noise replay."""

    schedule: Annotated[str, BeforeValidator(_schedule)] | None = "30 2 * * *"
    datasets: tuple[str, ...] = ("config/datasets/*.yaml",)
    repeats: Annotated[int, Field(ge=1, le=100)] = 3
    takes: Literal["auto", "text", "messages"] = "auto"
    concurrency: Annotated[int, Field(ge=1, le=1000)] = 8
    timeout: Annotated[Duration, Field(gt=timedelta(0))] = timedelta(seconds=60)
    gate: NoiseGate = NoiseGate()


class JobsSettings(Section):
    """What runs at night."""

    toxicity: ToxicityJob = ToxicityJob()
    noise: NoiseJob = NoiseJob()


class SchedulerSettings(Section):
    """The process of ``tracehooks schedule``.

    ``health`` is the host:port that answers probes; None for none. ``stop_within`` is how long a run may take
    to be put away when the process is to end.
    """

    health: Annotated[str, Field(pattern=r"^[^/\s]*:\d{1,5}$")] | None = None
    stop_within: Annotated[Duration, Field(gt=timedelta(0))] = timedelta(seconds=20)
