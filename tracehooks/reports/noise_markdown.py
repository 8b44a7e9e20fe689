"""A noise run's report in Markdown: the verdict first, then each noise type, then the lowest answers."""

from collections.abc import Sequence
from typing import Any

from tracehooks.reports.markdown import SIGNS, escaped, quoted, step_line
from tracehooks.reports.noise_words import (
    entry_facts,
    entry_score,
    lowest_of,
    noise_facts,
    noise_steps,
    type_cells,
)
from tracehooks.reports.run import RunReport
from tracehooks.reports.standing import headline, mark

OPEN_ONES, PASSED = 5, 1
TEXT_LENGTH = 300


def noise_markdown(report: RunReport) -> str:
    """The whole report. Texts are quoted so that nothing in them is obeyed."""
    word = mark(report.run)
    lines = [f"## {SIGNS.get(word, '⏳')} {word}: {escaped(headline(report.run))}", "", "| | |", "|---|---|"]
    lines += [f"| {escaped(fact.label)} | {escaped(fact.text)} |" for fact in noise_facts(report)]
    types = report.figures.get("types") or []
    if types:
        lines += ["", "### Noise types", "", *_types(types)]
    for one, entries in lowest_of(types, open_ones=OPEN_ONES, passed=PASSED):
        lines += ["", f"### Lowest under {escaped(one['type'])}", "", *_entries(entries)]
    steps = [step for step in noise_steps(report) if "--markdown" not in step.command]
    if steps:
        lines += ["", "### Next", "", *(f"- {step_line(step.command, step.purpose)}" for step in steps)]
    return "\n".join(lines) + "\n"


def _types(types: Sequence[Any]) -> list[str]:
    rows = [
        "| type | verdict | scored | mean | lowest | needed | lost |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    return [*rows, *(f"| {' | '.join(escaped(text) for text in type_cells(one))} |" for one in types)]


def _entries(entries: Sequence[Any]) -> list[str]:
    rows = [
        "| case | variant | score | question | asked | answer | why | trace |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for entry in entries:
        texts = {fact.label: fact.text for fact in entry_facts(entry)}
        said = (quoted(texts.get(label, ""), TEXT_LENGTH) for label in ("question", "asked", "answer", "why"))
        head = (quoted(entry["case"]), quoted(entry["variant"]), escaped(entry_score(entry)))
        rows.append(f"| {' | '.join((*head, *said, quoted(entry['trace_id'] or '')))} |")
    return rows
