"""What verbs begin with: the settings, the store, and the log on standard error."""

import logging
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path

from tracehooks.cli import output
from tracehooks.settings import Settings, find_config, load_settings
from tracehooks.store import Store, open_store

DEMO = "demo"


class _ToStandardError(logging.Handler):
    """Log lines as sentences, printed above a progress bar when there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        said = record.getMessage().removeprefix("tracehooks: ")  # some messages name us by themselves
        output.say(f"tracehooks: {said}", style="yellow")


def read_settings(config: str | None) -> Settings:
    """The settings that a verb works with, and the log set up. ``demo`` names the demo's own file.

    Raises ConfigurationError naming the file, the line and the key.
    """
    logger = logging.getLogger("tracehooks")
    if not logger.handlers:
        logger.addHandler(_ToStandardError(logging.WARNING))
    if config == DEMO and not Path(config).exists():
        return demo_settings()
    return load_settings(config)


def demo_settings() -> Settings:
    """The settings that come with the demo, in the package."""
    with as_file(files("tracehooks.config") / "demo" / "tracehooks.yaml") as file:
        return load_settings(file)


def config_hint(config: str | None) -> str:
    """What a command in a hint needs behind it, to read the same settings."""
    return f" --config {shlex.quote(config)}" if config else ""


def found_config(config: str | None) -> Path | None:
    """The settings file in use; None for none, or the demo's own."""
    return None if config == DEMO and not Path(config).exists() else find_config(config)


def is_stored(settings: Settings) -> bool:
    """Whether the store is there already. A database server counts as there."""
    from tracehooks.store.url import parse_url

    url = parse_url(settings.store)
    return url.get_backend_name() != "sqlite" or Path(str(url.database)).exists()


@contextmanager
def reading(settings: Settings) -> Iterator[Store]:
    """The store, to be read. One that is not there yet is not made by looking: it reads as empty."""
    if is_stored(settings):
        with open_store(settings.store) as store:
            yield store
        return
    with tempfile.TemporaryDirectory() as folder, open_store(f"sqlite:///{folder}/empty.db") as store:
        yield store
