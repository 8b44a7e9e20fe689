"""``tracehooks gate``: one verdict for a deployment."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from tracehooks.cli import output
from tracehooks.cli.dataset_files import AgentNameOption
from tracehooks.cli.files import takes_standard_output, write_file
from tracehooks.cli.options import MARKDOWN_HELP, ConfigOption, JsonOption
from tracehooks.cli.session import config_hint, read_settings, reading
from tracehooks.cli.verbs import examples, verb_app
from tracehooks.errors import ConfigurationError
from tracehooks.reference.conditions import is_of
from tracehooks.reports.gate import NOISE, Gate, GateReport
from tracehooks.reports.gate_json import gate_dict
from tracehooks.reports.gate_junit import gate_junit
from tracehooks.reports.gate_markdown import gate_markdown
from tracehooks.reports.gate_terminal import gate_renderable
from tracehooks.settings import parse_duration
from tracehooks.store import RunRecord, Store

JOBS = ("toxicity", NOISE)
LOOKED_AT = 1000

app = verb_app()


@app.command(
    epilog=examples(
        "tracehooks gate",
        'tracehooks gate --job noise --junit noise.xml --markdown "$GITHUB_STEP_SUMMARY"',
        "tracehooks gate 4be1a07c --json",
    )
)
def gate(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN", help="Runs by their ids; else the latest of each job.", show_default=False
        ),
    ] = None,
    job: Annotated[
        list[str] | None,
        typer.Option("--job", metavar="JOB", help="Only the latest run of toxicity, or noise."),
    ] = None,
    agent: AgentNameOption = None,
    max_age: Annotated[
        str | None,
        typer.Option(
            "--max-age", metavar="DURATION", help="Note when the reference is older than this: 30d."
        ),
    ] = None,
    junit: Annotated[
        str | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML; - is standard output.")
    ] = None,
    markdown: Annotated[
        str | None,
        typer.Option("--markdown", metavar="FILE", help=MARKDOWN_HELP),
    ] = None,
    allow_empty: Annotated[
        bool, typer.Option("--allow-empty", help="A noise run with nothing in it passes.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> int:
    """Give one verdict over stored runs: pass 0, fail 1, could not decide 3.

    Without RUN it takes the latest run of each job that has any; nothing at all is 3. A noise run is compared
    with the reference in force now; where the two were made under different conditions it says which, and the
    verdict is 3. Nothing is asked and no score is changed.
    """
    taken = takes_standard_output(as_json=as_json, junit=junit, markdown=markdown)
    settings = read_settings(config)
    age = _age(max_age)
    with reading(settings) as store:
        wanted, missing = _chosen(store, runs, job, agent, settings.project)
        judged = Gate(
            settings=settings, store=store, now=datetime.now(UTC), max_age=age, allow_empty=allow_empty
        )
        report = judged.report(wanted, missing, hint=config_hint(config))
    for name, text in ((junit, gate_junit(report)), (markdown, gate_markdown(report))):
        if name:  # an empty one is a variable that is not set, as outside of GitHub
            write_file(name, text)
    if not taken:
        _show(report, as_json=as_json)
    return report.exit_code


def _age(text: str | None) -> timedelta | None:
    try:
        return None if text is None else parse_duration(text)
    except ValueError as error:
        raise ConfigurationError(f"--max-age: {error}") from None


def _chosen(
    store: Store, runs: Sequence[str] | None, jobs: Sequence[str] | None, agent: str | None, project: str
) -> tuple[list[RunRecord], list[str]]:
    """The runs to judge, and the jobs that were asked for and have none."""
    for name in jobs or ():
        if name not in JOBS:
            raise ConfigurationError(f"--job {name!r}: known are {', '.join(JOBS)}")
    for name in runs or ():
        if name in JOBS:
            raise ConfigurationError(f"{name} is a job, not a run; `gate --job {name}` is of its latest run")
    if runs:
        return [store.runs.get(run) for run in dict.fromkeys(runs)], []
    found = {
        name: latest_run(store, name, agent, project) for name in (jobs or ((NOISE,) if agent else JOBS))
    }
    missing = [name for name, run in found.items() if run is None and (jobs or agent)]
    return [run for run in found.values() if run is not None], missing


def latest_run(store: Store, job: str, agent: str | None, project: str) -> RunRecord | None:
    """The project's latest run of the job, of this agent where one is named."""
    listed = store.runs.list(job, limit=LOOKED_AT)
    return next((run for run in listed if is_of(project, run.plan) and _is_asked(run, agent)), None)


def _is_asked(run: RunRecord, agent: str | None) -> bool:
    return agent is None or run.job != NOISE or agent in (run.plan.get("agent"), run.plan.get("agent_given"))


def _show(report: GateReport, *, as_json: bool) -> None:
    if as_json:
        output.show_json(gate_dict(report))
    else:
        output.show(gate_renderable(report))
