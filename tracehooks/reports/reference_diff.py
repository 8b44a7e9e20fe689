"""What moved since the reference, for a terminal, in Markdown, and for a program."""

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tracehooks.reports.gate import GatedRun
from tracehooks.reports.gate_json import moved_dict
from tracehooks.reports.gate_markdown import moved_table
from tracehooks.reports.gate_terminal import moved_parts
from tracehooks.reports.gate_words import reference_line, run_line
from tracehooks.reports.markdown import escaped
from tracehooks.reports.terminal import command

ALL = 10_000


def summary(one: GatedRun) -> str:
    """What moved, in one sentence; or why that cannot be said."""
    if one.reference is None:
        return "There is no reference to compare with."
    if one.differences:
        return f"Cannot be compared: {'; '.join(one.differences)}."
    worse = sum(moved.lost is not None and moved.lost > 0 for moved in one.moved)
    better = sum(moved.lost is not None and moved.lost < 0 for moved in one.moved)
    unknown = len(one.moved) - worse - better
    return f"{worse} variants got worse, {better} better, {unknown} have no score on one side."


def diff_renderable(one: GatedRun, *, hint: str = "") -> RenderableType:
    """All that moved."""
    parts: list[RenderableType] = [Text(summary(one), style="bold"), Text(run_line(one))]
    if one.reference is None:
        parts.append(command(f"tracehooks reference bless{hint}"))
        return Group(*parts)
    parts.append(Text(f"reference {reference_line(one)}"))
    parts += [Text(f"{case}: {state}") for case, state in one.changed_cases.items()]
    if one.moved and not one.differences:
        parts += moved_parts("What moved", one.moved, shown=ALL)
    return Group(*parts)


def diff_markdown(one: GatedRun) -> str:
    """All that moved, for a pull request."""
    lines = [f"## {escaped(summary(one))}", "", escaped(run_line(one)), ""]
    if one.reference is not None:
        lines += [f"reference {escaped(reference_line(one))}", ""]
    lines += [f"- {escaped(case)}: {state}" for case, state in one.changed_cases.items()]
    if one.moved and not one.differences:
        lines += moved_table(one.moved)
    return "\n".join(lines).rstrip("\n") + "\n"


def diff_dict(one: GatedRun) -> dict[str, Any]:
    """All that moved, by name."""
    return {
        "run": one.run.id if one.run else None,
        "reference": one.reference.id if one.reference else None,
        "differences": list(one.differences),
        "changed_cases": dict(one.changed_cases),
        "moved": [] if one.differences or one.reference is None else [moved_dict(each) for each in one.moved],
    }
