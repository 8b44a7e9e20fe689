"""Pieces of a terminal report: headed lines, labelled facts, next steps and tables that fit the width."""

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tracehooks.reports.run_words import Fact, Step
from tracehooks.reports.wording import plain

STYLES = {
    "PASS": "bold green",
    "FAIL": "bold red",
    "INCONCLUSIVE": "bold yellow",
    "RUNNING": "bold cyan",
    "scored": "",
    "unscored": "yellow",
    "skipped": "dim",
}
UNKNOWN = "bold yellow"


def heading(word: str, sentence: str) -> Text:
    """The first line of a report: one word that says it all, and why."""
    return Text.assemble((word, STYLES.get(word, UNKNOWN)), "  ", sentence)


def section(title: str, body: RenderableType) -> RenderableType:
    """A titled part of a report, set off by an empty line."""
    return Group("", Text(title, style="bold"), Padding(body, (0, 0, 0, 2)))


def labelled(facts: Iterable[Fact]) -> RenderableType:
    """Facts in two columns; long ones go on under their own beginning."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(overflow="fold")
    for fact in facts:
        grid.add_row(fact.label, Text(fact.text))
    return Padding(grid, (0, 0, 0, 2))


def command(text: str, indent: int = 2) -> Text:
    """A command to copy: on a line of its own, which only the terminal itself may wrap."""
    return Text(" " * indent + text, style="cyan", no_wrap=True, overflow="ignore")


def steps(title: str, listed: Sequence[Step]) -> list[RenderableType]:
    """Next steps, what each is for and its command below; nothing when there are none."""
    lines: list[RenderableType] = ["", Text(title, style="bold")] if listed else []
    for step in listed:
        lines.append(Padding(Text(step.purpose), (0, 0, 0, 2)))
        if step.command:
            lines.append(command(step.command, 4))
    return lines


def table(*columns: tuple[str, int]) -> Table:
    """An empty table as wide as the terminal, of columns with a title and a size.

    A size above 0 is the width that the column's content may take at most; one below shares what is left,
    -2 twice as much as -1. What does not fit is cut with an ellipsis, never wrapped: one row is one line.
    """
    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), expand=True)
    for title, extent in columns:
        made.add_column(
            title,
            no_wrap=True,
            overflow="ellipsis",
            max_width=extent if extent > 0 else None,
            ratio=-extent if extent < 0 else None,
        )
    return made


def cell(text: object, style: str = "") -> Text:
    """``text`` as a cell: one line, nothing in it obeyed."""
    return Text(plain(text), style=style, no_wrap=True, overflow="ellipsis")
