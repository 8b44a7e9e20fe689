"""The settings of the judge, what it costs and may use, and how it is watched."""

from datetime import date, timedelta
from typing import Annotated, Literal

from pydantic import Field, SecretStr

from tracehooks.settings.section import Section
from tracehooks.settings.values import Count, Duration, Fraction, Number, Pattern


class PriceSettings(Section):
    """What the judge's tokens cost: dollars for a million of them.

    ``batch`` is the share of it that is to be paid in a batch; None is that of the table that ships with us.
    """

    input: Annotated[Number, Field(ge=0)]
    output: Annotated[Number, Field(ge=0)]
    batch: Fraction | None = None


class CacheSettings(Section):
    """Verdicts that are kept so that the same question is not paid for twice: how many, how long."""

    size: Count = 20_000
    age: Annotated[Duration, Field(gt=timedelta(0))] = timedelta(days=30)


class JudgeSettings(Section):
    """The model that judges, on any OpenAI-compatible server. Without a model the local pre-screen scores.

    ``max_output_tokens`` is the longest reply that is asked for; None is the model's own limit. ``price``
    overrides the table that ships with us.
    """

    model: str | None = None
    base_url: Annotated[str, Field(pattern=r"^https?://[^/\s]+")] | None = None
    api_key: SecretStr | None = None
    mask: Literal["secrets", "none"] | tuple[Pattern, ...] = "secrets"
    concurrency: Annotated[int, Field(ge=1, le=1000)] = 16
    timeout: Annotated[Duration, Field(gt=timedelta(0))] = timedelta(seconds=30)
    attempts: Annotated[int, Field(ge=1, le=10)] = 3
    requests_per_minute: Annotated[int, Field(ge=1)] | None = None
    tokens_per_minute: Annotated[int, Field(ge=1)] | None = None
    max_output_tokens: Annotated[int, Field(ge=1)] | None = None
    price: PriceSettings | None = None
    cache: CacheSettings = CacheSettings()


class AllowanceSettings(Section):
    """What a judge may use at most: dollars, tokens (in and out together), requests. None is no limit."""

    dollars: Annotated[Number, Field(ge=0)] | None = None
    tokens: Count | None = None
    calls: Count | None = None

    @property
    def is_open(self) -> bool:
        """Whether it limits nothing."""
        return self.dollars is None and self.tokens is None and self.calls is None


class BudgetSettings(Section):
    """What the jobs' judges may use: each run, and all runs of a day (UTC) together. Never exceeded."""

    run: AllowanceSettings = AllowanceSettings()
    day: AllowanceSettings = AllowanceSettings()


class CanarySettings(Section):
    """The frozen texts that a night's judge is given too.

    They are judged where they are at most ``share`` of what a night judges. Nights before ``since`` are not
    compared with: it says that the judge is meant to be another from that day (UTC) on.
    """

    enabled: bool = True
    share: Fraction = 0.1
    since: date | None = None
