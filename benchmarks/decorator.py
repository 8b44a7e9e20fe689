"""What ``@traced`` and others add to a function, over what a bare OpenTelemetry span adds."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.cases import CASES
from benchmarks.effort import Effort
from benchmarks.environments import PEERS, NotInstalledError, python_of, versions
from benchmarks.figures import Ratio, Row, Table, compared
from benchmarks.root import ROOT

MICROSECONDS = 1e6
_EVERYTHING = tuple(CASES)
_USUAL = ("sync", "nested", "generator")
PEER_CASES = ("sync", "async", "nested", "generator")

# what DESIGN sets for the default settings, and for spans that are not sampled
REACH = {"sync": 1.3, "async": 1.3, "nested": 3.0, "generator": 1.5, "async_generator": 1.5, "threads": 1.3}
REACH_UNSAMPLED = 1.2
REACH_DISABLED = 0.0

Line = dict[str, Any]
Told = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Form:
    """One way to set tracehooks up, and the cases measured with it."""

    name: str
    title: str
    cases: tuple[str, ...]
    reach: Callable[[str], float | None] = lambda case: None
    has_background: bool = False


FORMS = (
    Form("default", "", _EVERYTHING, REACH.get),
    Form("unsampled", "unsampled: ", ("sync", "async", "nested"), lambda case: REACH_UNSAMPLED),
    Form("disabled", "disabled: ", ("sync", "async", "generator"), lambda case: REACH_DISABLED),
    Form("masked", "with a mask of secrets: ", _USUAL),
    Form("stored", "with the store: ", _USUAL, has_background=True),
    Form("hooked", "with the store and a hook on 5 %: ", _USUAL, has_background=True),
)


def measure(effort: Effort, tell: Told) -> Table:
    """``@traced`` in all its forms; several processes each, the forms in turns."""
    lines: dict[str, list[Line]] = {form.name: [] for form in FORMS}
    for number in range(effort.processes):
        for form in FORMS:
            tell(f"@traced, {form.name}, process {number + 1} of {effort.processes}")
            lines[form.name] += probe("tracehooks", form.cases, effort, form=form.name)
    rows = tuple(row for form in FORMS for row in _rows(form, lines[form.name]))
    title = "CPU that @traced adds to a call, over what a bare OpenTelemetry span adds"
    return Table("decorator", title, "@traced", "bare span", "µs", rows)


def measure_peers(effort: Effort, tell: Told, peers: Sequence[str] = PEERS) -> Table:
    """Other decorators, each in an environment of its own, and ours in the same turns."""
    lines: dict[str, list[Line]] = {peer: [] for peer in ("tracehooks", *peers)}
    pythons: dict[str, Path] = {"tracehooks": Path(sys.executable)}
    skipped: dict[str, str] = {}
    for peer in peers:
        tell(f"{peer}: making sure of its environment")
        try:
            pythons[peer] = python_of(peer)
        except NotInstalledError as error:
            skipped[peer] = f"not installed: {error}"
    for number in range(effort.processes):
        for peer, python in pythons.items():
            tell(f"{peer}, process {number + 1} of {effort.processes}")
            try:
                lines[peer] += probe(peer, PEER_CASES, effort, python=python)
            except ProbeError as error:
                skipped[peer] = str(error)
    rows = tuple(row for peer in lines for row in _peer_rows(peer, lines[peer], skipped.get(peer)))
    title = "CPU that decorators add to a call, over what a bare span adds in the same process"
    return Table("peers", title, "decorator", "bare span", "µs", rows)


class ProbeError(Exception):
    """A subject did not run; the message is the last thing it said."""


def probe(
    subject: str, cases: Sequence[str], effort: Effort, *, form: str = "default", python: Path | None = None
) -> list[Line]:
    """The lines of one process of benchmarks.probe. Raises ProbeError."""
    command = [str(python or sys.executable), "-m", "benchmarks.probe", subject, "--form", form]
    options = ["--rounds", str(effort.rounds), "--seconds", str(effort.turn_seconds), "--cases", *cases]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_OTHERS)}
    done = subprocess.run(
        [*command, *options], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600
    )
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise ProbeError(said[-1] if said else f"it ended with {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


# a shell's settings for these products are not what is measured
_OTHERS = ("OTEL_", "TRACEHOOKS_", "LANGFUSE_", "LOGFIRE_", "MLFLOW_", "TRACELOOP_", "OPENINFERENCE_")


def _rows(form: Form, lines: Sequence[Line]) -> Iterator[Row]:
    for case in form.cases:
        these = [line for line in lines if line["case"] == case]
        row = _row(f"{form.title}{CASES[case].title}", these, reach=form.reach(case))
        yield _nothing(row) if all(line["is_itself"] for line in these) else row
        if form.has_background:
            yield _row(f"{row.name}, calling thread alone", these, clock="_thread")


def _peer_rows(peer: str, lines: Sequence[Line], skipped: str | None) -> Iterator[Row]:
    name = peer if peer == "tracehooks" else versions(peer)
    if not lines:
        yield Row(name, skipped=skipped or "no rounds were measured")
        return
    for case in PEER_CASES:
        yield _row(f"{name}: {CASES[case].title}", [line for line in lines if line["case"] == case])


def _row(name: str, lines: Sequence[Line], *, clock: str = "", reach: float | None = None) -> Row:
    plain, bare, subject = ([line[way + clock] for line in lines] for way in ("plain", "bare", "subject"))
    ours = [one - nothing for one, nothing in zip(subject, plain, strict=True)]
    theirs = [one - nothing for one, nothing in zip(bare, plain, strict=True)]
    return compared(name, ours, theirs, scale=MICROSECONDS, reach=reach)


def _nothing(row: Row) -> Row:
    """The row of a decorator that gave back the very function: what was measured is noise."""
    rounds = row.ratio.rounds if row.ratio else 0
    return replace(row, ours=0.0, ratio=Ratio(0.0, 0.0, 0.0, rounds))
