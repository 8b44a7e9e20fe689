"""Options that several verbs share."""

from collections.abc import Sequence
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
NotifyOption = Annotated[
    bool, typer.Option("--notify", help="Tell the channels of the settings how it ended.")
]
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
WindowOption = Annotated[
    str | None, typer.Option("--window", metavar="SPAN", help="all, since_last, or so long back, as 24h.")
]
JOB_HELP = "toxicity, noise, or nightly for both."
JobArgument = Annotated[str, typer.Argument(metavar="JOB", help=JOB_HELP)]
RunArgument = Annotated[
    str | None, typer.Argument(metavar="RUN", help="A run's id or the beginning of it.", show_default=False)
]

DatasetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--dataset", metavar="NAME", help="Noise: only this dataset, by name or file. May be repeated."
    ),
]
CaseOption = Annotated[
    list[str] | None, typer.Option("--case", metavar="ID", help="Noise: only this case. May be repeated.")
]
TagOption = Annotated[
    list[str] | None,
    typer.Option("--tag", metavar="TAG", help="Noise: only what has this tag. May be repeated."),
]
TypeOption = Annotated[
    list[str] | None,
    typer.Option("--type", metavar="TYPE", help="Noise: only this noise type. May be repeated."),
]
RepeatsOption = Annotated[
    int | None,
    typer.Option("--repeats", min=1, max=100, metavar="N", help="Noise: ask each variant so many times."),
]
AgentOption = Annotated[
    str | None,
    typer.Option(
        "--agent",
        metavar="AGENT",
        help="Ask this one: a name of agents in the settings, module:function, or an http address.",
    ),
]

MARKDOWN_HELP = "Write Markdown for a pull request or job summary; - is standard output."

JOBS = ("toxicity", "noise")
NIGHTLY = "nightly"


def jobs_named(name: str) -> tuple[str, ...]:
    """The jobs that ``name`` stands for. Raises ConfigurationError for one that does not exist."""
    if name == NIGHTLY:
        return JOBS
    if name not in JOBS:
        raise ConfigurationError(f"there is no job {name!r}; known are {', '.join((*JOBS, NIGHTLY))}")
    return (name,)


def only_for(jobs: Sequence[str], job: str, **given: object) -> None:
    """Raises ConfigurationError when an option that goes with ``job`` alone was given for other ``jobs``."""
    found = [name for name, value in given.items() if value]
    if job not in jobs and found:
        raise ConfigurationError(f"--{found[0]} goes with the {job} job, and not with {', '.join(jobs)}")


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
