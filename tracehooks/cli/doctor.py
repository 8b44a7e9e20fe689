"""``tracehooks doctor``: is everything there that is needed?"""

from typing import Annotated

import typer
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tracehooks.cli import output
from tracehooks.cli.checks import examine
from tracehooks.cli.finding import Finding
from tracehooks.cli.options import ConfigOption, JsonOption
from tracehooks.cli.verbs import examples, verb_app

GRADES = {"ok": ("ok", "green"), "note": ("note", "yellow"), "bad": ("BAD", "bold red")}
BAD = 2

app = verb_app()


@app.command(epilog=examples("tracehooks doctor", "tracehooks doctor --no-network --json"))
def doctor(
    network: Annotated[
        bool,
        typer.Option(
            "--network/--no-network",
            help="Ask the judge one tiny question, and backends how they are, where they are set up.",
        ),
    ] = True,
    fix: Annotated[
        bool, typer.Option("--fix", help="Mend what can be, such as missing score configs in Langfuse.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> int:
    """Check the installation, the settings, the store, scorer, judge, agents, sinks, and Langfuse.

    Each finding comes with its remedy. Exits 0 when nothing is bad, else 2.
    """
    findings = list(examine(config, network=network, fix=fix))
    code = BAD if any(finding.grade == "bad" for finding in findings) else 0
    if as_json:
        listed = [
            {"grade": each.grade, "about": each.about, "what": each.what, "remedy": each.remedy or None}
            for each in findings
        ]
        output.show_json({"ok": code == 0, "exit_code": code, "findings": listed})
    else:
        output.show(_listing(findings))
        output.show("Everything that is needed is there." if code == 0 else "See the remedies above.")
    return code


def _listing(findings: list[Finding]) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True, style="bold")
    grid.add_column(overflow="fold")
    for finding in findings:
        word, style = GRADES[finding.grade]
        grid.add_row(Text(word, style=style), finding.about, Text(finding.what))
        if finding.remedy:
            grid.add_row("", "", Text(finding.remedy, style="cyan"))
    return grid
