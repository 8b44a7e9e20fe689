"""Reading the settings: from the file, then the environment, remembering where each value stands."""

import difflib
import os
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from tracehooks.errors import ConfigurationError
from tracehooks.settings.models import Settings

SEARCHED = ("config/tracehooks.yaml", "tracehooks.yaml")
PREFIX = "TRACEHOOKS_"
MOST_BYTES = 1_000_000  # settings are read by people; YAML of many megabytes would be read for minutes
STORES = ("sqlite", "postgresql", "postgres")
STORE_FORMS = "sqlite:///path/to/file.db, postgresql://user@host/database, or memory"
NOT_SETTINGS = frozenset({"TRACEHOOKS_CONFIG", "TRACEHOOKS_DISABLED"})

KeyPath = tuple[str | int, ...]


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
        settings = Settings.model_validate(data)
    except ValidationError as error:
        raise ConfigurationError(explained(error, places, file)) from None
    if lines := [
        f"{_place(path, places, file)}: {dotted(path)}: {what}" for path, what in _unknown(settings)
    ]:
        raise ConfigurationError("\n".join(lines))
    return settings


def _unknown(settings: Settings) -> Iterator[tuple[KeyPath, str]]:
    """What the settings name and nothing that is installed offers."""
    for index, sink in enumerate(settings.sinks):
        if sink not in (known := _offered("tracehooks.sinks")):
            yield ("sinks", index), f"no sink is named {sink!r}; known are {', '.join(known)}"
    if settings.source not in (known := ["local", *_offered("tracehooks.sources")]):
        yield ("source",), f"no source is named {settings.source!r}; known are {', '.join(known)}"
    kind = re.match(r"[a-z0-9]+", settings.store.lower())
    if settings.store not in ("", "memory") and (kind is None or kind[0] not in STORES):
        yield ("store",), f"{kind[0] if kind else 'this'} is not supported; give {STORE_FORMS}"


def _offered(group: str) -> list[str]:
    return sorted({point.name for point in entry_points(group=group)})


def _place(path: KeyPath, places: Mapping[KeyPath, str], file: Path | None) -> str:
    """Where the value of ``path``, or the nearest key above it, was given."""
    known = next((path[:n] for n in range(len(path), 0, -1) if path[:n] in places), ())
    return places.get(known) or (str(file) if file else "settings")


def _read_yaml(file: Path) -> tuple[dict[str, Any], dict[KeyPath, str]]:
    try:
        if file.stat().st_size > MOST_BYTES:
            raise ConfigurationError(f"{file}: is no settings file: it has more than {MOST_BYTES // 1000} kB")
        text = file.read_text(encoding="utf-8-sig")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigurationError(f"{file}:{line}: not valid YAML: {error.problem}") from None
    except (OSError, UnicodeDecodeError, RecursionError, yaml.YAMLError) as error:
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
        ("langfuse", "public_key"): "LANGFUSE_PUBLIC_KEY",
        ("langfuse", "secret_key"): "LANGFUSE_SECRET_KEY",
        ("langfuse", "release"): "LANGFUSE_RELEASE",
        ("langfuse", "base_url"): "LANGFUSE_BASE_URL"
        if environ.get("LANGFUSE_BASE_URL")
        else "LANGFUSE_HOST",
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


def explained(
    error: ValidationError, places: Mapping[KeyPath, str] | None = None, file: Path | None = None
) -> str:
    """What is wrong, a line for each key: where it came from, the key, and what would be right."""
    places = places or {}
    lines = []
    for item in error.errors():
        # pydantic also names a union's branches here: those are not identifiers
        path = tuple(part for part in item["loc"] if isinstance(part, int) or part.isidentifier())
        where = _place(path, places, file)
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
