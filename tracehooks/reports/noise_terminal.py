"""A noise run's report for a terminal."""

from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from tracehooks.reports.noise_words import (
    entry_facts,
    entry_score,
    lowest_of,
    noise_facts,
    noise_steps,
    type_cells,
)
from tracehooks.reports.run import RunReport
from tracehooks.reports.run_words import Fact
from tracehooks.reports.standing import headline, mark
from tracehooks.reports.terminal import STYLES, cell, command, heading, labelled, steps, table
from tracehooks.reports.wording import excerpt, plain

TEXT_LENGTH = 240
OPEN_ONES, PASSED = 3, 1
COLUMNS = (
    ("type", -1),
    ("verdict", 12),
    ("scored", 10),
    ("mean", 5),
    ("lowest", 6),
    ("needed", 7),
    ("lost", 6),
)


def noise_renderable(report: RunReport) -> RenderableType:
    """The whole report: verdict and why, facts, noise types, the lowest answers, what to do next."""
    parts: list[RenderableType] = [
        heading(mark(report.run), headline(report.run)),
        "",
        labelled(noise_facts(report)),
    ]
    types = report.figures.get("types") or []
    if types:
        parts += ["", Text("Noise types", style="bold"), _types(types)]
    for one, entries in lowest_of(types, open_ones=OPEN_ONES, passed=PASSED):
        parts += ["", Text(f"Lowest under {plain(one['type'])}", style="bold")]
        for entry in entries:
            parts += _entry(entry, report)
    return Group(*parts, *steps("Next", noise_steps(report)))


def _types(types: Any) -> RenderableType:
    compared = any(one.get("comparison") for one in types)
    columns = COLUMNS if compared else COLUMNS[:-1]
    made = table(*columns)
    made.expand = False  # no gap between a short name and its figures
    made.columns[0].no_wrap = False  # so that on a narrow screen the name gives way, and no figure
    for one in types:
        cells = type_cells(one)[: len(columns)]
        style = STYLES.get(cells[1].upper(), "")
        made.add_row(*(cell(text, style if at == 1 else "") for at, text in enumerate(cells)))
    return made


def _entry(entry: Any, report: RunReport) -> list[RenderableType]:
    head = Text.assemble(
        (f"{plain(entry['case'])}  {plain(entry['variant'])}", "bold"), f"  {entry_score(entry)}"
    )
    facts = [Fact(fact.label, excerpt(fact.text, TEXT_LENGTH)) for fact in entry_facts(entry)]
    lines: list[RenderableType] = [Padding(head, (0, 0, 0, 2)), Padding(labelled(facts), (0, 0, 0, 2))]
    if entry.get("trace_id"):
        lines.append(
            command(f"tracehooks explain {entry['trace_id'][: report.trace_digits]}{report.hint}", 6)
        )
    return lines
