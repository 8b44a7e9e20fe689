"""``tracehooks run``: a job, now, to its verdict."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from tracehooks.cli.night import conclude, conclude_nightly, settings_with, work_night
from tracehooks.cli.options import (
    NIGHTLY,
    ConfigOption,
    FromOption,
    JobArgument,
    JsonOption,
    ToOption,
    jobs_named,
    time_option,
)
from tracehooks.cli.session import config_hint, read_settings
from tracehooks.cli.verbs import examples, verb_app
from tracehooks.store import open_store

app = verb_app()


@app.command(
    epilog=examples(
        "tracehooks run toxicity",
        "tracehooks run nightly --window 24h --json > night.json",
        "tracehooks run toxicity --from 2026-11-29 --to 2026-11-30 --rescore",
    )
)
def run(
    job: JobArgument,
    config: ConfigOption = None,
    start: FromOption = None,
    end: ToOption = None,
    window: Annotated[
        str | None, typer.Option("--window", metavar="SPAN", help="all, since_last, or so long back, as 24h.")
    ] = None,
    rescore: Annotated[bool, typer.Option("--rescore", help="Judge again what has a score already.")] = False,
    allow_empty: Annotated[
        bool, typer.Option("--allow-empty", help="A window with nothing to judge passes.")
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Exit 1, not 0, when spans of the window were lost on their way to the store."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Sample the window's calls, judge them, attach the scores, and end in one verdict.

    A second run of the same window judges only what has no score yet. Ctrl-C loses nothing: `tracehooks
    resume` goes on. The exit code is the verdict's: 0 pass, 1 fail, 3 could not decide.
    """
    jobs_named(job)  # each job has a driver of its own; so far there is one
    settings = settings_with(read_settings(config), window=window)
    now = datetime.now(UTC)
    since, until = time_option(start, now), time_option(end, now)
    with open_store(settings.store) as store:
        report = work_night(
            settings,
            store,
            lambda night: night.run(since, until),
            hint=config_hint(config),
            rescore=rescore,
            allow_empty=allow_empty,
        )
    if job == NIGHTLY:
        return conclude_nightly([report], strict=strict, as_json=as_json)
    return conclude(report, strict=strict, as_json=as_json)
