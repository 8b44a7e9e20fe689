"""The settings as a whole: every key, its default and its bounds. Larger sections have their own files."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, model_validator

from tracehooks.records import DataType, Direction
from tracehooks.settings.backends import JsonlSettings, LangfuseSettings, OtlpSettings
from tracehooks.settings.judging import (
    AllowanceSettings,
    BudgetSettings,
    CacheSettings,
    CanarySettings,
    JudgeSettings,
    PriceSettings,
)
from tracehooks.settings.nights import (
    JobsSettings,
    NoiseGate,
    NoiseJob,
    SchedulerSettings,
    ToxicityGate,
    ToxicityJob,
)
from tracehooks.settings.notices import NotifySettings
from tracehooks.settings.section import Section
from tracehooks.settings.selection import FilterSettings, SampleSettings
from tracehooks.settings.values import Fraction, Name, Number, Pattern, TextPathText

__all__ = [
    "AllowanceSettings",
    "BudgetSettings",
    "CacheSettings",
    "CanarySettings",
    "CaptureSettings",
    "FilterSettings",
    "HookSettings",
    "JobsSettings",
    "JsonlSettings",
    "JudgeSettings",
    "LangfuseSettings",
    "MaskSettings",
    "NoiseGate",
    "NoiseJob",
    "NotifySettings",
    "OtlpSettings",
    "PriceSettings",
    "SampleSettings",
    "SchedulerSettings",
    "ScoreSettings",
    "Settings",
    "ToxicityGate",
    "ToxicityJob",
]


class MaskSettings(Section):
    """What is blanked out before anything is recorded: regular expressions."""

    patterns: tuple[Pattern, ...] = ()


class CaptureSettings(Section):
    """How much of a text is recorded: bytes of JSON for each of input and output."""

    max_bytes: Annotated[int, Field(ge=64, le=16_000_000)] = 256_000


class HookSettings(Section):
    """A scorer that runs online on a sample of the calls of some agents (shell patterns over their names)."""

    scorer: Name
    rate: Fraction = 1.0
    agents: tuple[str, ...] = ("*",)


class ScoreSettings(Section):
    """What values a score of this name may have, and which way is better."""

    min: Number | None = None
    max: Number | None = None
    direction: Direction = "higher"
    data_type: DataType = "NUMERIC"

    @model_validator(mode="after")
    def _ordered(self) -> "ScoreSettings":
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min:g} is above max {self.max:g}")
        return self


class Settings(Section):
    """Everything that can be configured. Build one with :func:`load_settings`, or directly in tests."""

    project: str = ""
    service: str = "agent"
    environment: str = "default"
    agent: str | None = None
    agents: dict[str, str] = Field(default_factory=dict)
    store: str = "sqlite:///.tracehooks/tracehooks.db"
    source: str = "local"
    text: TextPathText | None = None
    sinks: tuple[str, ...] = ()
    jsonl: JsonlSettings = JsonlSettings()
    otlp: dict[str, OtlpSettings] = Field(default_factory=dict)
    langfuse: LangfuseSettings = LangfuseSettings()
    mask: MaskSettings = MaskSettings()
    capture: CaptureSettings = CaptureSettings()
    judge: JudgeSettings = JudgeSettings()
    budget: BudgetSettings = BudgetSettings()
    canaries: CanarySettings = CanarySettings()
    scorers: dict[str, dict[str, Any]] = Field(default_factory=dict)
    scores: dict[Name, ScoreSettings] = Field(default_factory=dict)
    hooks: tuple[HookSettings, ...] = ()
    jobs: JobsSettings = JobsSettings()
    scheduler: SchedulerSettings = SchedulerSettings()
    notify: tuple[NotifySettings, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _project_is_the_service(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and not data.get("project"):
            return {**data, "project": data.get("service") or cls.model_fields["service"].default}
        return data

    @model_validator(mode="before")
    @classmethod
    def _langfuse_gets_scores(cls, data: Any) -> Any:
        """Left out, ``sinks`` is langfuse where its keys are set; an empty list keeps every score here."""
        if isinstance(data, Mapping) and "sinks" not in data and _has_keys(data.get("langfuse")):
            return {**data, "sinks": ("langfuse",)}
        return data


def _has_keys(section: Any) -> bool:
    if isinstance(section, LangfuseSettings):
        return section.has_keys
    return isinstance(section, Mapping) and bool(section.get("public_key") and section.get("secret_key"))
