"""Options that several verbs share."""

from datetime import datetime
from typing import Annotated

import typer

from tracehooks.errors import ConfigurationError

ConfigOption = Annotated[
    str | None,
    typer.Option(
        "--config", metavar="FILE", help="Settings file, instead of the one found; demo is the demo's own."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
FromOption = Annotated[
    str | None,
    typer.Option(
        "--from",
        "--since",
        metavar="TIME",
        help="Calls from here on: 2026-11-30, 2026-11-30T02:00Z, or 24h for so long ago.",
    ),
]
ToOption = Annotated[
    str | None, typer.Option("--to", "--until", metavar="TIME", help="Calls before this time.")
]
JOB_HELP = "toxicity, or nightly for all jobs."
JobArgument = Annotated[str, typer.Argument(metavar="JOB", help=JOB_HELP)]
RunArgument = Annotated[
    str | None, typer.Argument(metavar="RUN", help="A run's id or the beginning of it.", show_default=False)
]

JOBS = ("toxicity",)
NIGHTLY = "nightly"


def jobs_named(name: str) -> tuple[str, ...]:
    """The jobs that ``name`` stands for. Raises ConfigurationError for one that does not exist."""
    if name == NIGHTLY:
        return JOBS
    if name not in JOBS:
        raise ConfigurationError(f"there is no job {name!r}; known are {', '.join((*JOBS, NIGHTLY))}")
    return (name,)


def time_option(text: str | None, now: datetime) -> datetime | None:
    """A time from ISO 8601 text (UTC unless it says otherwise), or from a duration: so long before ``now``.

    Raises ConfigurationError for anything else.
    """
    if text is None:
        return None
    from tracehooks.jobs.windows import parse_time
    from tracehooks.settings import parse_duration

    try:
        return now - parse_duration(text)
    except ValueError:
        return parse_time(text)
