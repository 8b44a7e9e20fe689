"""``tracehooks plan``: what a run would do."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from tracehooks.cli import output
from tracehooks.cli.night import settings_with
from tracehooks.cli.options import (
    ConfigOption,
    FromOption,
    JobArgument,
    JsonOption,
    ToOption,
    jobs_named,
    time_option,
)
from tracehooks.cli.session import config_hint, read_settings, reading
from tracehooks.cli.verbs import examples, verb_app
from tracehooks.jobs.toxicity import ToxicityNight
from tracehooks.reports.preview import preview_dict, preview_renderable

app = verb_app()


@app.command(epilog=examples("tracehooks plan toxicity", "tracehooks plan nightly --window all --json"))
def plan(
    job: JobArgument,
    config: ConfigOption = None,
    start: FromOption = None,
    end: ToOption = None,
    window: Annotated[
        str | None, typer.Option("--window", metavar="SPAN", help="all, since_last, or so long back, as 24h.")
    ] = None,
    rescore: Annotated[bool, typer.Option("--rescore", help="Count in what has a score already.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Say what a run would do now: its window, its calls, how many it would ask the judge about.

    Nothing is written, and no judge is asked.
    """
    jobs_named(job)
    settings = settings_with(read_settings(config), window=window)
    now = datetime.now(UTC)
    with reading(settings) as store:
        night = ToxicityNight(settings=settings, store=store, rescore=rescore)
        preview = night.preview(time_option(start, now), time_option(end, now))
    if as_json:
        output.show_json(preview_dict("toxicity", preview))
    else:
        given = {"--window": window, "--from": start, "--to": end}
        words = "".join(f" {option} {value}" for option, value in given.items() if value)
        again = f"{words}{' --rescore' if rescore else ''}{config_hint(config)}"
        output.show(preview_renderable(job, preview, hint=again))
    return 0
