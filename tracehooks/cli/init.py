"""``tracehooks init``: settings to begin with."""

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from tracehooks.cli import output
from tracehooks.cli.options import JsonOption
from tracehooks.cli.session import config_hint
from tracehooks.cli.verbs import examples, verb_app
from tracehooks.errors import ConfigurationError
from tracehooks.settings.loading import SEARCHED

STARTER = "tracehooks.yaml"

app = verb_app()


@app.command(epilog=examples("tracehooks init", "tracehooks init --config settings/night.yaml"))
def init(
    config: Annotated[
        str | None,
        typer.Option("--config", metavar="FILE", help="Where to write; otherwise where it is looked for."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Write a settings file in which every key stands with its default and a comment.

    It goes to config/tracehooks.yaml where there is a config folder, else to ./tracehooks.yaml.
    """
    target = Path(config) if config else _usual_place()
    if target.exists() and not force:
        raise ConfigurationError(f"{target} is there already; --force overwrites it")
    text = (files("tracehooks.config") / STARTER).read_text(encoding="utf-8")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{target} cannot be written: {error.strerror}") from None
    if as_json:
        output.show_json({"written": str(target)})
    else:
        hint = config_hint(config)
        output.show(f"Wrote {target}. Next: `tracehooks doctor{hint}` checks it.")
    return 0


def _usual_place() -> Path:
    """The file that is read already, which another must not hide; else where one would be looked for."""
    found = next((Path(name) for name in SEARCHED if Path(name).exists()), None)
    folder = Path("config")
    return found or (folder if folder.is_dir() else Path()) / STARTER
