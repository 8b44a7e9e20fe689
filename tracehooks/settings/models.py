"""The settings themselves: every key, its default and its bounds."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    field_validator,
    model_validator,
)

from tracehooks.records import DataType, Direction
from tracehooks.settings.schedules import parse_schedule
from tracehooks.settings.values import (
    Count,
    Duration,
    Fraction,
    Name,
    Number,
    Pattern,
    TextPathText,
    TimeZone,
    parse_duration,
)


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class MaskSettings(_Section):
    """What is blanked out before anything is recorded: regular expressions."""

    patterns: tuple[Pattern, ...] = ()


class CaptureSettings(_Section):
    """How much of a text is recorded: bytes of JSON for each of input and output."""

    max_bytes: Annotated[int, Field(ge=64, le=16_000_000)] = 256_000


class JsonlSettings(_Section):
    """Where the ``jsonl`` sink writes: one score a line, appended."""

    path: str = ".tracehooks/scores.jsonl"


class LangfuseSettings(_Section):
    """The Langfuse project that spans and scores go to, once both keys are there.

    ``spans`` sends every agent's spans there. ``prescreen`` sends the local pre-screen's scores too, which
    otherwise stay here. ``release`` goes onto every span. No ``base_url`` means Langfuse Cloud in the EU.
    ``confirm_after`` is how long the server may take until a score that it accepted can be read back.
    ``review_queue`` names the annotation queue into which calls scored toxic and calls that the judge failed
    at are put.
    """

    base_url: Annotated[str, Field(pattern=r"^https?://[^/\s]+")] | None = None
    public_key: SecretStr | None = None
    secret_key: SecretStr | None = None
    spans: bool = True
    prescreen: bool = False
    release: str | None = None
    confirm_after: Annotated[Duration, Field(gt=timedelta(0))] = timedelta(seconds=7)
    review_queue: str | None = None

    @property
    def has_keys(self) -> bool:
        """Whether both keys are there."""
        return all(key is not None and key.get_secret_value() for key in (self.public_key, self.secret_key))


class OtlpSettings(_Section):
    """One more backend that gets every agent's spans, over OTLP (http/protobuf)."""

    endpoint: Annotated[str, Field(pattern=r"^https?://[^/\s]+")]
    headers: dict[str, SecretStr] = Field(default_factory=dict)


class PriceSettings(_Section):
    """What the judge's tokens cost: dollars for a million of them.

    ``batch`` is the share of it that is to be paid in a batch; None is that of the table that ships with us.
    """

    input: Annotated[Number, Field(ge=0)]
    output: Annotated[Number, Field(ge=0)]
    batch: Fraction | None = None


class CacheSettings(_Section):
    """Verdicts that are kept so that the same question is not paid for twice: how many, how long."""

    size: Count = 20_000
    age: Annotated[Duration, Field(gt=timedelta(0))] = timedelta(days=30)


class JudgeSettings(_Section):
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


class AllowanceSettings(_Section):
    """What a judge may use at most: dollars, tokens (in and out together), requests. None is no limit."""

    dollars: Annotated[Number, Field(ge=0)] | None = None
    tokens: Count | None = None
    calls: Count | None = None

    @property
    def is_open(self) -> bool:
        """Whether it limits nothing."""
        return self.dollars is None and self.tokens is None and self.calls is None


class BudgetSettings(_Section):
    """What the jobs' judges may use: each run, and all runs of a day (UTC) together. Never exceeded."""

    run: AllowanceSettings = AllowanceSettings()
    day: AllowanceSettings = AllowanceSettings()


class CanarySettings(_Section):
    """The frozen texts that a night's judge is given too.

    They are judged where they are at most ``share`` of what a night judges. Nights before ``since`` are not
    compared with: it says that the judge is meant to be another from that day (UTC) on.
    """

    enabled: bool = True
    share: Fraction = 0.1
    since: date | None = None


class HookSettings(_Section):
    """A scorer that runs online on a sample of the calls of some agents (shell patterns over their names)."""

    scorer: Name
    rate: Fraction = 1.0
    agents: tuple[str, ...] = ("*",)


class ScoreSettings(_Section):
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


class SampleSettings(_Section):
    """How calls are drawn: ``size`` calls, or a ``rate`` of them; stratified shares ``size`` among agents."""

    strategy: Literal["uniform", "stratified"] = "uniform"
    size: Count | None = None
    rate: Fraction | None = None

    @model_validator(mode="after")
    def _one_of(self) -> "SampleSettings":
        if self.size is not None and self.rate is not None:
            raise ValueError("give size or rate, not both")
        if self.strategy == "stratified" and self.size is None:
            raise ValueError("stratified sampling needs a size")
        return self


Level = Literal["DEBUG", "DEFAULT", "WARNING", "ERROR"]


class FilterSettings(_Section):
    """Which calls count. Lists match any of their values; all given keys must match.

    ``level`` is Langfuse's; of calls that came another way only ERROR is told from the others.
    """

    environment: tuple[str, ...] = ()
    name: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    user_id: tuple[str, ...] = ()
    session_id: tuple[str, ...] = ()
    version: tuple[str, ...] = ()
    level: tuple[Level, ...] = ()
    metadata: dict[str, Any] = Field(default_factory=dict)

    @field_validator(
        "environment", "name", "tags", "user_id", "session_id", "version", "level", mode="before"
    )
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value


class ToxicityGate(_Section):
    """Passes when the rate of toxic calls is surely at most ``max_rate``."""

    max_rate: Fraction = 0.05
    min_coverage: Fraction = 0.9


class NoiseGate(_Section):
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


class _Job(_Section):
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


class JobsSettings(_Section):
    """What runs at night."""

    toxicity: ToxicityJob = ToxicityJob()
    noise: NoiseJob = NoiseJob()


class SchedulerSettings(_Section):
    """The process of ``tracehooks schedule``.

    ``health`` is the host:port that answers probes; None for none. ``stop_within`` is how long a run may take
    to be put away when the process is to end.
    """

    health: Annotated[str, Field(pattern=r"^[^/\s]*:\d{1,5}$")] | None = None
    stop_within: Annotated[Duration, Field(gt=timedelta(0))] = timedelta(seconds=20)


NoticeKind = Literal["fail", "inconclusive", "missed", "degraded", "recovered"]


class NotifySettings(_Section):
    """One channel on which people are told: a webhook, or a command that gets the message as JSON on stdin.

    ``fails`` is how many nights in a row must fail before that is told. With ``agents``, shell patterns, each
    agent of these names is told of by its own calls, and not the job as a whole. ``link`` is put behind every
    message, ``{run}`` in it replaced by the run's id.
    """

    webhook: SecretStr | None = None
    command: tuple[str, ...] = ()
    about: tuple[NoticeKind, ...] = get_args(NoticeKind)
    fails: Annotated[int, Field(ge=1, le=30)] = 2
    agents: tuple[str, ...] = ()
    link: str | None = None

    @model_validator(mode="after")
    def _one_way(self) -> "NotifySettings":
        if (self.webhook is None) == (not self.command):
            raise ValueError("give a webhook or a command, one of them")
        return self

    @field_validator("webhook")
    @classmethod
    def _is_address(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not value.get_secret_value().startswith(("http://", "https://")):
            raise ValueError("needs an address that begins with https:// or http://")
        return value


class Settings(_Section):
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
