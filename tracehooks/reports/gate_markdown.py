"""The gate in Markdown, for a pull request or a job summary: the verdict first, then what moved."""

from collections.abc import Iterator, Sequence

from tracehooks.reports.gate import NOISE, GatedRun, GateReport
from tracehooks.reports.gate_words import (
    MOVED_HEADINGS,
    TYPE_HEADINGS,
    moved_cells,
    moved_title,
    next_steps,
    reference_line,
    run_line,
    type_cells,
)
from tracehooks.reports.markdown import SIGNS, escaped, quoted
from tracehooks.reports.moved import Moved
from tracehooks.reports.wording import number

SHOWN = 10
TEXT_LENGTH = 300
CALL_HEADINGS = ("value", "band", "trace", "why")


def gate_markdown(report: GateReport) -> str:
    """The whole. Texts of agents and judges are quoted so that nothing in them is obeyed."""
    word = report.verdict.value.upper()
    lines = [f"## {SIGNS[word]} {word}: {escaped(report.headline)}", ""]
    for one in report.runs:
        lines += _run(one)
    if steps := next_steps(report):
        lines += ["### Next", ""]
        lines += [f"- {escaped(step.purpose)} `{step.command}`" for step in steps]
    return "\n".join(lines).rstrip("\n") + "\n"


def _run(one: GatedRun) -> Iterator[str]:
    yield f"**{one.job}**: {one.verdict.value}. {escaped(run_line(one))}"
    yield ""
    yield from (f"- {escaped(reason)}" for reason in one.reasons)
    yield from (f"- note: {escaped(note)}" for note in one.notes)
    if reference := reference_line(one):
        yield f"- reference {escaped(reference)}"
    yield from (f"- {escaped(case)}: {state}" for case, state in one.changed_cases.items())
    yield ""
    if one.moved:
        yield from _moved(one)
    if one.ruling and one.ruling.types:
        yield from table(TYPE_HEADINGS, [type_cells(each) for each in one.ruling.types])
        yield ""


def _moved(one: GatedRun) -> Iterator[str]:
    shown = one.moved[:SHOWN]
    of = f" ({len(shown)} of {len(one.moved)})" if len(shown) < len(one.moved) else ""
    yield f"### {moved_title(one)}{of}"
    yield ""
    yield from moved_table(shown) if one.job == NOISE else _calls_table(shown)
    yield ""


def _calls_table(calls: Sequence[Moved]) -> Iterator[str]:
    rows = [(number(each.now), each.noise_type, each.case, each.why) for each in calls]
    yield from table(CALL_HEADINGS, rows, code=len(CALL_HEADINGS) - 1)


def moved_table(moved: Sequence[Moved]) -> Iterator[str]:
    """What moved, a line each, with what was said."""
    headings = (*MOVED_HEADINGS, "said before", "says now", "why")
    yield from table(headings, [_cells(each) for each in moved], code=len(MOVED_HEADINGS))


def _cells(one: Moved) -> tuple[str, ...]:
    return (*moved_cells(one), one.answer_before or "", one.answer_now or "", one.why)


def table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, code: int | None = None
) -> Iterator[str]:
    """A table; the cells from ``code`` on are texts that nobody vouches for."""
    yield f"| {' | '.join(headings)} |"
    yield f"|{'---|' * len(headings)}"
    for row in rows:
        cells = [
            quoted(cell, TEXT_LENGTH) if code is not None and n >= code else escaped(cell)
            for n, cell in enumerate(row)
        ]
        yield f"| {' | '.join(cells)} |"
