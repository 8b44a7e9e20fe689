"""The gate for a terminal."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from tracehooks.reports.gate import GatedRun, GateReport
from tracehooks.reports.gate_words import (
    TYPE_HEADINGS,
    moved_cells,
    moved_title,
    next_steps,
    reference_line,
    run_line,
    type_cells,
)
from tracehooks.reports.grid import Grid
from tracehooks.reports.moved import Moved
from tracehooks.reports.run_words import Fact
from tracehooks.reports.terminal import heading, labelled, steps
from tracehooks.reports.wording import excerpt, plain

SHOWN = 10


def gate_renderable(report: GateReport) -> RenderableType:
    """The verdict and why, then each run, then what to do next."""
    parts: list[RenderableType] = [heading(report.verdict.value.upper(), plain(report.headline))]
    for one in report.runs:
        parts += ["", *_run(one)]
    return Group(*parts, *steps("Next", next_steps(report)))


def _run(one: GatedRun) -> Iterator[RenderableType]:
    facts = [Fact(one.job, f"{one.verdict.value}: {run_line(one)}")]
    facts += [Fact("why", plain(reason)) for reason in one.reasons]
    facts += [Fact("note", plain(note)) for note in one.notes]
    if reference := reference_line(one):
        facts.append(Fact("reference", plain(reference)))
    facts += [Fact("case", f"{plain(case)}: {state}") for case, state in one.changed_cases.items()]
    yield labelled(facts)
    if one.ruling and one.ruling.types:
        yield ""
        yield Padding(
            Grid(TYPE_HEADINGS, [type_cells(each) for each in one.ruling.types], lead=2), (0, 0, 0, 2)
        )
    if one.moved:
        yield from moved_parts(moved_title(one), one.moved, shown=SHOWN)


def moved_parts(title: str, moved: tuple[Moved, ...], *, shown: int) -> Iterator[RenderableType]:
    """What moved, with what was said."""
    first = moved[:shown]
    of = f" ({len(first)} of {len(moved)})" if len(first) < len(moved) else ""
    yield ""
    yield Text(f"{title}{of}", style="bold")
    for one in first:
        lost, before, now, noise, case, variant = moved_cells(one)
        moved_from = f"{before} → " if one.before is not None else ""
        words = (
            ("" if one.lost is None else lost, "bold"),
            (f"{moved_from}{now}", ""),
            (plain(noise), ""),
            (plain(case), "bold"),
            (plain(variant), ""),
        )
        head = Text("  ").join(Text(text, style) for text, style in words if text)
        yield Padding(head, (0, 0, 0, 2))
        said = ((one.answer_before, "before"), (one.answer_now, "now"), (one.why, "why"))
        for text, label in said:
            if text:
                yield Padding(Text(f"{label}: {excerpt(text, 200)}", style="dim"), (0, 0, 0, 8))
