"""The settings files that ship: the starter that `tracehooks init` copies out, and the demo's."""

from datetime import timedelta
from importlib.resources import as_file, files

import yaml
from pydantic import BaseModel

from tracehooks.settings import Settings, load_settings


def _load(*names: str) -> Settings:
    with as_file(files("tracehooks.config").joinpath(*names)) as path:
        return load_settings(path, {})


def _keys(model: type[BaseModel]) -> set[str]:
    found = set(model.model_fields)
    for field in model.model_fields.values():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            found |= _keys(field.annotation)
    return found


def test_the_starter_changes_nothing() -> None:
    """Copying the starter settings out is the same as having none: every value in it is the default."""
    assert _load("tracehooks.yaml") == Settings()


def test_the_starter_names_every_key() -> None:
    """Each key that can be set stands in the starter with a comment, or is shown in one."""
    text = files("tracehooks.config").joinpath("tracehooks.yaml").read_text(encoding="utf-8")
    missing = {key for key in _keys(Settings) if key not in text}
    assert missing == set()


def test_every_section_of_the_starter_is_explained() -> None:
    """A line that sets a value says what it is for, unless the line of its twin above has said it."""
    text = files("tracehooks.config").joinpath("tracehooks.yaml").read_text(encoding="utf-8")
    bare = [line.strip() for line in text.splitlines() if line.strip() and "#" not in line]
    twins = {"schedule", "timezone", "grace", "time_limit", "min_coverage"}
    assert [line for line in bare if not line.endswith(":") and line.split(":")[0] not in twins] == []


def test_the_demo_settings_are_the_demos() -> None:
    """`make nightly` plays and scores the help desk on this machine: all that was played, without waiting."""
    settings = _load("demo", "tracehooks.yaml")
    night = settings.jobs.toxicity
    assert (settings.service, settings.environment, settings.agent) == (
        "help-desk",
        "demo",
        "tracehooks.demo:answer",
    )
    assert settings.store == Settings().store
    assert (night.window, night.settle) == ("all", timedelta(0))
    assert settings.judge.model is None


def test_the_settings_are_plain_yaml() -> None:
    """The starter is one YAML mapping; its commented examples are valid settings too."""
    text = files("tracehooks.config").joinpath("tracehooks.yaml").read_text(encoding="utf-8")
    shown = yaml.safe_load(text.replace("# project:", "project:").replace("# service:", "service:"))
    shown["hooks"] = [{"scorer": "toxicity", "rate": 0.05, "agents": ["*"]}]
    assert Settings.model_validate(shown).service == "support-bot"
