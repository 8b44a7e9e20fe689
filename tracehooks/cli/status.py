"""``tracehooks status``: how things stand."""

from datetime import timedelta
from typing import Annotated

import typer

from tracehooks.cli import output
from tracehooks.cli.options import ConfigOption, JsonOption
from tracehooks.cli.session import config_hint, is_stored, read_settings, reading
from tracehooks.cli.verbs import examples, verb_app
from tracehooks.errors import ConfigurationError
from tracehooks.reports.status import status_dict, status_renderable, status_report
from tracehooks.settings import parse_duration

app = verb_app()


@app.command(
    epilog=examples(
        "tracehooks status", "tracehooks status --json || page-somebody", "tracehooks status --max-age 26h"
    )
)
def status(
    max_age: Annotated[
        str | None,
        typer.Option(
            "--max-age",
            metavar="DURATION",
            help="Exit 3 when a job has not come to its end for so long: 26h.",
        ),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> int:
    """Show the last runs with their verdicts, the next ones, what is late, missed, unfinished, or waiting.

    The exit code serves a check: 0 when the last run of each job passed, 1 when one failed, 3 when there is
    none, or one is undecided, unfinished, late or missed, or a score can never be delivered.
    """
    settings, hint = read_settings(config), config_hint(config)
    age = _duration(max_age)
    with reading(settings) as store:
        found = status_report(store, settings, stored=is_stored(settings), hint=hint, max_age=age)
    if as_json:
        output.show_json(status_dict(found))
    else:
        output.show(status_renderable(found, output.width()))
    return found.exit_code


def _duration(text: str | None) -> timedelta | None:
    try:
        return None if text is None else parse_duration(text)
    except ValueError as error:
        raise ConfigurationError(f"--max-age: {error}") from None
