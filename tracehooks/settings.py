"""Settings: one frozen model, read once at the door from ``tracehooks.yaml`` and the environment.

The file is the one given, else ``$TRACEHOOKS_CONFIG``, else ``config/tracehooks.yaml``, else
``tracehooks.yaml``, else none. Every key can be set by ``TRACEHOOKS_<SECTION>__<KEY>``, which wins over the
file. An unknown key or a bad value raises ConfigurationError naming the file, the line and the key.
"""

import difflib
import os
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)

from tracehooks.errors import ConfigurationError
from tracehooks.records import DataType, Direction

SEARCHED = ("config/tracehooks.yaml", "tracehooks.yaml")
PREFIX = "TRACEHOOKS_"
NOT_SETTINGS = frozenset({"TRACEHOOKS_CONFIG", "TRACEHOOKS_DISABLED"})
SECONDS_PER_UNIT = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}

KeyPath = tuple[str | int, ...]


def parse_duration(value: Any) -> timedelta:
    """A duration from ``"30s"``, ``"10m"``, ``"2h"``, ``"30d"``, a number of seconds, or a timedelta.

    Raises ValueError for anything else, and for a negative or infinite one.
    """
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
    elif isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value)
    else:
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|[smhdw])\s*", str(value))
        if not match:
            raise ValueError(f"{value!r} is not a duration such as 30s, 10m, 2h or 30d")
        seconds = float(match[1]) * SECONDS_PER_UNIT[match[2]]
    if not 0 <= seconds < 1e10:
        raise ValueError(f"a duration must be at least 0 and finite, got {value!r}")
    return timedelta(seconds=seconds)


def format_duration(value: timedelta) -> str:
    """The shortest form that :func:`parse_duration` reads back."""
    seconds = value.total_seconds()
    for unit in ("d", "h", "m"):
        if seconds and seconds % SECONDS_PER_UNIT[unit] == 0:
            return f"{int(seconds // SECONDS_PER_UNIT[unit])}{unit}"
    return f"{seconds:g}s"


def _no_bool(value: Any) -> Any:
    if isinstance(value, bool | str):
        raise ValueError(f"needs a number, got {value!r}")
    return value


def _is_zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError(f"{value!r} is not a time zone such as UTC or Europe/Berlin") from error
    return value


def _compiles(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"{value!r} is not a regular expression: {error}") from error
    return value


Duration = Annotated[timedelta, BeforeValidator(parse_duration), PlainSerializer(format_duration)]
Number = Annotated[float, BeforeValidator(_no_bool), Field(allow_inf_nan=False)]
Fraction = Annotated[Number, Field(ge=0, le=1)]
Count = Annotated[int, Field(strict=True, ge=0)]
Pattern = Annotated[str, BeforeValidator(_compiles)]
TimeZone = Annotated[str, BeforeValidator(_is_zone)]


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


class JudgeSettings(_Section):
    """The model that judges, on any OpenAI-compatible server. Without a model the local pre-screen scores."""

    model: str | None = None
    base_url: str | None = None
    api_key: SecretStr | None = None
    mask: Literal["secrets", "none"] | tuple[Pattern, ...] = "secrets"
    concurrency: Annotated[int, Field(ge=1, le=1000)] = 16
    timeout: Duration = timedelta(seconds=30)
    attempts: Annotated[int, Field(ge=1, le=10)] = 3


class HookSettings(_Section):
    """A scorer that runs online on a sample of the calls of some agents (shell patterns over their names)."""

    scorer: str
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


class FilterSettings(_Section):
    """Which calls count. Lists match any of their values; all given keys must match."""

    environment: tuple[str, ...] = ()
    name: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    user_id: tuple[str, ...] = ()
    session_id: tuple[str, ...] = ()
    version: tuple[str, ...] = ()
    metadata: dict[str, Any] = Field(default_factory=dict)

    @field_validator("environment", "name", "tags", "user_id", "session_id", "version", mode="before")
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


class ToxicityJob(_Section):
    """The toxicity night."""

    schedule: str = "0 2 * * *"
    timezone: TimeZone = "UTC"
    window: Annotated[Literal["since_last", "all"] | Duration, BeforeValidator(_window)] = "since_last"
    max_window: Duration = timedelta(days=7)
    settle: Duration = timedelta(minutes=10)
    sample: SampleSettings = SampleSettings(size=300)
    filters: FilterSettings = FilterSettings()
    gate: ToxicityGate = ToxicityGate()


class NoiseJob(_Section):
    """The noise replay."""

    schedule: str = "30 2 * * *"
    timezone: TimeZone = "UTC"
    datasets: tuple[str, ...] = ("config/datasets/*.yaml",)
    repeats: Annotated[int, Field(ge=1, le=100)] = 3
    gate: NoiseGate = NoiseGate()


class JobsSettings(_Section):
    """What runs at night."""

    toxicity: ToxicityJob = ToxicityJob()
    noise: NoiseJob = NoiseJob()


class Settings(_Section):
    """Everything that can be configured. Build one with :func:`load_settings`, or directly in tests."""

    project: str = ""
    service: str = "agent"
    environment: str = "default"
    agent: str | None = None
    agents: dict[str, str] = Field(default_factory=dict)
    store: str = "sqlite:///.tracehooks/tracehooks.db"
    source: str = "local"
    sinks: tuple[str, ...] = ()
    jsonl: JsonlSettings = JsonlSettings()
    mask: MaskSettings = MaskSettings()
    capture: CaptureSettings = CaptureSettings()
    judge: JudgeSettings = JudgeSettings()
    scorers: dict[str, dict[str, Any]] = Field(default_factory=dict)
    scores: dict[str, ScoreSettings] = Field(default_factory=dict)
    hooks: tuple[HookSettings, ...] = ()
    jobs: JobsSettings = JobsSettings()

    @model_validator(mode="before")
    @classmethod
    def _project_is_the_service(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and not data.get("project"):
            return {**data, "project": data.get("service") or cls.model_fields["service"].default}
        return data


def find_config(path: str | Path | None = None, environ: Mapping[str, str] | None = None) -> Path | None:
    """The settings file that would be read; None when there is none.

    Raises ConfigurationError when a file was asked for by name and does not exist.
    """
    environ = os.environ if environ is None else environ
    named = path or environ.get("TRACEHOOKS_CONFIG")
    if named:
        if not Path(named).is_file():
            raise ConfigurationError(f"{named}: no such settings file. `tracehooks init` writes one.")
        return Path(named)
    return next((Path(name) for name in SEARCHED if Path(name).is_file()), None)


def load_settings(path: str | Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Read the settings from the file (see the module) and the environment.

    Raises ConfigurationError naming the file, the line and the key.
    """
    environ = os.environ if environ is None else environ
    file = find_config(path, environ)
    data, places = ({}, {}) if file is None else _read_yaml(file)
    _take_usual_variables(data, places, environ)
    _take_variables(data, places, environ)
    try:
        return Settings.model_validate(data)
    except ValidationError as error:
        raise ConfigurationError(_explain(error, places, file)) from None


def _read_yaml(file: Path) -> tuple[dict[str, Any], dict[KeyPath, str]]:
    try:
        text = file.read_text(encoding="utf-8-sig")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigurationError(f"{file}:{line}: not valid YAML: {error.problem}") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigurationError(f"{file}: cannot be read: {error}") from None
    if data is None:
        return {}, {}
    if not isinstance(data, dict):
        raise ConfigurationError(f"{file}:1: settings must be a mapping of keys to values")
    places: dict[KeyPath, str] = {}
    for path, line in _lines(node, ()):
        if path in places:
            raise ConfigurationError(f"{file}:{line}: {dotted(path)} is given twice")
        places[path] = f"{file}:{line}"
    return data, places


def _lines(node: yaml.Node | None, path: KeyPath) -> Iterator[tuple[KeyPath, int]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield (*path, str(key.value)), key.start_mark.line + 1
            yield from _lines(value, (*path, str(key.value)))
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield (*path, index), value.start_mark.line + 1
            yield from _lines(value, (*path, index))


def _take_usual_variables(
    data: dict[str, Any], places: dict[KeyPath, str], environ: Mapping[str, str]
) -> None:
    usual = {
        ("service",): "OTEL_SERVICE_NAME",
        ("judge", "api_key"): "OPENAI_API_KEY",
        ("judge", "base_url"): "OPENAI_BASE_URL",
    }
    for path, name in usual.items():
        if environ.get(name):
            _put(data, places, path, environ[name], name, replace=False)


def _take_variables(data: dict[str, Any], places: dict[KeyPath, str], environ: Mapping[str, str]) -> None:
    for name in sorted(environ):
        if not name.startswith(PREFIX) or name in NOT_SETTINGS:
            continue
        path = tuple(part.lower() for part in name.removeprefix(PREFIX).split("__"))
        try:
            value = yaml.safe_load(environ[name])
        except yaml.YAMLError:
            value = environ[name]
        _put(data, places, path, value, name, replace=True)


def _put(
    data: dict[str, Any],
    places: dict[KeyPath, str],
    path: tuple[str, ...],
    value: Any,
    variable: str,
    *,
    replace: bool,
) -> None:
    here = data
    for part in path[:-1]:
        if here.get(part) is None:
            here[part] = {}
        here = here[part]
        if not isinstance(here, dict):
            raise ConfigurationError(f"environment variable {variable}: {part} has no keys of its own")
    if replace or here.get(path[-1]) is None:
        here[path[-1]] = value
        places[path] = f"environment variable {variable}"


def dotted(path: KeyPath) -> str:
    """A key's path as people write it: ``jobs.toxicity.gate.max_rate``, ``hooks[0].rate``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _explain(error: ValidationError, places: Mapping[KeyPath, str], file: Path | None) -> str:
    lines = []
    for item in error.errors():
        # pydantic also names a union's branches here: those are not identifiers
        path = tuple(part for part in item["loc"] if isinstance(part, int) or part.isidentifier())
        known = next((path[:n] for n in range(len(path), 0, -1) if path[:n] in places), ())
        where = places.get(known) or (str(file) if file else "settings")
        if item["type"] == "extra_forbidden":
            message = "unknown key" + _nearest(path)
        else:
            message = item["msg"].removeprefix("Value error, ")
        lines.append(f"{where}: {dotted(path)}: {message}")
    return "\n".join(dict.fromkeys(lines))


def _nearest(path: KeyPath) -> str:
    section: Any = Settings
    for part in path[:-1]:
        field = getattr(section, "model_fields", {}).get(part)
        section = field.annotation if field else None
    names = list(getattr(section, "model_fields", {}))
    close = difflib.get_close_matches(str(path[-1]), names, n=1)
    return f"; did you mean {close[0]}?" if close else f"; known here: {', '.join(names)}" if names else ""
