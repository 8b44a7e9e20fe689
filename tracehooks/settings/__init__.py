"""Settings: one frozen model, read once at the door from ``tracehooks.yaml`` and the environment.

The file is the one given, else ``$TRACEHOOKS_CONFIG``, else ``config/tracehooks.yaml``, else
``tracehooks.yaml``, else none. Every key can be set by ``TRACEHOOKS_<SECTION>__<KEY>``, which wins over the
file. An unknown key or a bad value raises ConfigurationError naming the file, the line and the key.
"""

from tracehooks.settings.loading import dotted, find_config, load_settings
from tracehooks.settings.models import (
    AllowanceSettings,
    BudgetSettings,
    CacheSettings,
    CaptureSettings,
    FilterSettings,
    HookSettings,
    JobsSettings,
    JsonlSettings,
    JudgeSettings,
    LangfuseSettings,
    MaskSettings,
    NoiseGate,
    NoiseJob,
    PriceSettings,
    SampleSettings,
    ScoreSettings,
    Settings,
    ToxicityGate,
    ToxicityJob,
)
from tracehooks.settings.values import format_duration, parse_duration

__all__ = [
    "AllowanceSettings",
    "BudgetSettings",
    "CacheSettings",
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
    "PriceSettings",
    "SampleSettings",
    "ScoreSettings",
    "Settings",
    "ToxicityGate",
    "ToxicityJob",
    "dotted",
    "find_config",
    "format_duration",
    "load_settings",
    "parse_duration",
]
