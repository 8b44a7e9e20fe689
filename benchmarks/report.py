"""What was measured, as tables in the terminal, as JSON, and as Markdown for the documentation."""

import os
import platform
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as RichTable

from benchmarks.figures import Row, Table

PACKAGES = ("opentelemetry-sdk", "orjson", "openai", "SQLAlchemy")


def machine() -> dict[str, Any]:
    """What the figures depend on, and nothing that tells whose machine it is."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "command": " ".join(["python -m benchmarks", *sys.argv[1:]]),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": platform.system(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "packages": {name: version(name) for name in PACKAGES},
    }


def as_json(tables: Iterable[Table], before: dict[str, Any]) -> dict[str, Any]:
    """The whole as one JSON document; ``before`` is the machine when it began."""
    shown = []
    for table in tables:
        rows = [asdict(row) | {"is_met": row.is_met} for row in table.rows]
        shown.append(asdict(table) | {"rows": rows})
    return {"machine": before, "tables": shown}


def show(table: Table, console: Console) -> None:
    """Print one table."""
    shown = RichTable(title=table.title, title_justify="left", box=SIMPLE_HEAD)
    shown.add_column("", overflow="fold", ratio=1)
    for name in _headings(table)[1:]:
        shown.add_column(name, justify="right", no_wrap=True)
    for row in table.rows:
        shown.add_row(*_cells(row))
    console.print(shown)


def as_markdown(tables: Sequence[Table], before: dict[str, Any]) -> str:
    """The same for a page of the documentation."""
    parts = []
    for table in tables:
        lines = [_line(_headings(table)), _line(["---"] + ["--:"] * 5)]
        lines += [_line(_cells(row)) for row in table.rows]
        parts.append(f"### {table.title}\n\n" + "\n".join(lines))
    return "\n\n".join([footnote(before), summary(tables), *parts]) + "\n"


def summary(tables: Iterable[Table]) -> str:
    """How many reaches are reached, and which are not."""
    rows = [row for table in tables for row in table.rows if row.is_met is not None]
    missed = [
        f"{row.name} ({row.ratio.median:.2f}, <= {row.reach:g})"
        for row in rows
        if row.ratio and not row.is_met
    ]
    names = "; not reached: " + "; ".join(missed) if missed else ""
    return f"Reached: {len(rows) - len(missed)} of {len(rows)}{names}."


def _headings(table: Table) -> list[str]:
    unit = table.unit
    return ["", f"{table.ours} {unit}", f"{table.theirs} {unit}", "ratio", "middle 80 %", "reach"]


def _cells(row: Row) -> list[str]:
    ratio = row.ratio
    if row.skipped is not None:
        return [f"{row.name}: skipped, {row.skipped}", "", "", "", "", ""]
    if ratio is None:
        return [row.name, _figure(row.ours), _figure(row.theirs), "", "", ""]
    spread = f"{ratio.low:.2f}-{ratio.high:.2f}"
    return [row.name, _figure(row.ours), _figure(row.theirs), f"{ratio.median:.2f}", spread, _reach(row)]


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:,.1f}"


def _reach(row: Row) -> str:
    if row.reach is None:
        return ""
    return f"<= {row.reach:g} {'reached' if row.is_met else 'NOT reached'}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def footnote(before: dict[str, Any]) -> str:
    """What it was measured on."""
    packages = ", ".join(f"{name} {number}" for name, number in before["packages"].items())
    load = "" if before["load"] is None else f", load {before['load']} at the start"
    where = f"{before['system']} {before['architecture']}, {before['cores']} cores{load}"
    return (
        f"{before['date']}, `{before['command']}`, {before['python']} on {where}; {packages}. "
        "Ratios are medians of rounds measured in pairs."
    )
