"""``tracehooks report``: a stored run's report."""

from typing import Annotated

import typer

from tracehooks.cli import output
from tracehooks.cli.options import ConfigOption, JsonOption, RunArgument
from tracehooks.cli.session import config_hint, read_settings, reading
from tracehooks.cli.verbs import examples, verb_app
from tracehooks.reports.run import run_report
from tracehooks.reports.run_json import run_dict
from tracehooks.reports.run_markdown import run_markdown
from tracehooks.reports.run_terminal import run_renderable

NO_DATA = 3
ALL_WORST = 10

app = verb_app()


@app.command(
    epilog=examples("tracehooks report", "tracehooks report 4be1a07c --markdown >> $GITHUB_STEP_SUMMARY")
)
def report(
    run: RunArgument = None,
    config: ConfigOption = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Markdown, for a pull request or a job summary.")
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Show the report of a run: the latest one unless RUN names it.

    Exits 0 whatever the verdict, so that it can be shown after a night that failed; 3 when there is no run.
    """
    settings = read_settings(config)
    with reading(settings) as store:
        found = store.runs.get(run) if run else store.runs.latest()
        if found is None:
            return _nothing(as_json=as_json)
        made = run_report(store, found, hint=config_hint(config))
    if as_json:
        output.show_json(run_dict(made))
    elif markdown:
        output.write(run_markdown(made))
    else:
        output.show(run_renderable(made, shown=ALL_WORST))
    return 0


def _nothing(*, as_json: bool) -> int:
    if as_json:
        output.show_json({"run": None, "message": "no run is stored yet"})
    else:
        output.show("No run is stored yet. `tracehooks run toxicity` makes one.")
    return NO_DATA
