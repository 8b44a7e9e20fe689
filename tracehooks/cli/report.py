"""``tracehooks report``: a stored run's report."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from tracehooks.cli import output
from tracehooks.cli.files import takes_standard_output, write_file
from tracehooks.cli.options import NIGHTLY, ConfigOption, JsonOption
from tracehooks.cli.session import config_hint, read_settings, reading
from tracehooks.cli.verbs import examples, verb_app
from tracehooks.errors import ConfigurationError
from tracehooks.reports.run import run_report
from tracehooks.reports.run_json import run_dict
from tracehooks.reports.run_markdown import run_markdown
from tracehooks.reports.run_terminal import run_renderable
from tracehooks.store import RunRecord, Store

NO_DATA = 3
ALL_WORST = 10
JOBS: Mapping[str, tuple[str, ...]] = {
    "toxicity": ("toxicity",),
    "noise": ("noise",),
    NIGHTLY: ("toxicity", "noise"),
}

app = verb_app()


@app.command(
    epilog=examples(
        "tracehooks report",
        "tracehooks report 4be1a07c --markdown >> $GITHUB_STEP_SUMMARY",
        "tracehooks report nightly --html night.html --redact",
        "tracehooks report --compare --markdown",
    )
)
def report(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN",
            help="A run's id or the beginning of it; or toxicity, noise or nightly for the latest.",
            show_default=False,
        ),
    ] = None,
    config: ConfigOption = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Markdown, for a pull request or a job summary.")
    ] = False,
    html: Annotated[
        str | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="One HTML file that loads nothing from elsewhere; - is standard output.",
        ),
    ] = None,
    redact: Annotated[
        bool, typer.Option("--redact", help="With --html: leave the texts of calls out.")
    ] = False,
    compare: Annotated[
        bool,
        typer.Option("--compare", help="Rank the agents by the latest noise run of each, with intervals."),
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Show the report of a run: the latest one unless RUN names it. Or rank agents with --compare.

    Exits 0 whatever the verdict, so that it can be shown after a night that failed; 3 when there is no run.
    """
    if redact and html is None:
        raise ConfigurationError("--redact goes with --html FILE")
    takes_standard_output(as_json=as_json, html=html)
    settings = read_settings(config)
    if compare:
        if run is not None or html is not None:
            raise ConfigurationError(
                "--compare takes the latest noise run of each agent, no RUN and no --html"
            )
        with reading(settings) as store:
            return _rank(store, hint=config_hint(config), markdown=markdown, as_json=as_json)
    with reading(settings) as store:
        found = _chosen(store, run)
        if not found:
            return _nothing(run or NIGHTLY, config_hint(config), as_json=as_json)
        if html is not None:
            return _write_html(store, found, html, redact=redact, hint=config_hint(config))
        made = [run_report(store, each, hint=config_hint(config)) for each in found]
    if as_json:
        documents = [run_dict(each) for each in made]
        output.show_json({"job": NIGHTLY, "runs": documents} if run == NIGHTLY else documents[0])
    elif markdown:
        output.write("\n".join(run_markdown(each) for each in made))
    else:
        for each in made:
            output.show(run_renderable(each, shown=ALL_WORST))
    return 0


def _chosen(store: Store, run: str | None) -> list[RunRecord]:
    """The run that is named, the latest of each job that is named, or the latest of all."""
    if run is None:
        found = [store.runs.latest()]
    elif run in JOBS:
        found = [store.runs.latest(job) for job in JOBS[run]]
    else:
        found = [store.runs.get(run)]
    return [each for each in found if each is not None]


def _write_html(store: Store, runs: Sequence[RunRecord], html: str, *, redact: bool, hint: str) -> int:
    from tracehooks.reports.run_html import TEXT_LENGTH, run_html

    made = [run_report(store, run, hint=hint, length=TEXT_LENGTH) for run in runs]
    if path := write_file(html, run_html(made, store, redact=redact)):
        output.say(f"wrote {path}")
    return 0


def _rank(store: Store, *, hint: str, markdown: bool, as_json: bool) -> int:
    from tracehooks.reports.ranking import ranking
    from tracehooks.reports.ranking_tables import ranking_dict, ranking_markdown, ranking_renderable

    found = ranking(store)
    if found is None:
        return _nothing("noise", hint, as_json=as_json)
    if as_json:
        output.show_json(ranking_dict(found))
    elif markdown:
        output.write(ranking_markdown(found))
    else:
        output.show(ranking_renderable(found))
    return 0


def _nothing(job: str, hint: str, *, as_json: bool) -> int:
    """That no run is there of ``job``, and what makes one."""
    which = "run" if job == NIGHTLY else f"{job} run"
    message = f"no {which} is stored yet; `tracehooks run {job}{hint}` makes one"
    if as_json:
        output.show_json({"run": None, "message": message})
    else:
        output.show(f"{message[0].upper()}{message[1:]}.")
    return NO_DATA
