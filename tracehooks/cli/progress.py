"""Progress of long work on standard error: how far, how fast, how long still; in a pipe a line a stage."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tracehooks.cli import output

BAR_WIDTH = 20


@dataclass(frozen=True, slots=True)
class Report:
    """What long work reports to: ``report(done, total)`` how far it is, ``stage(text)`` what it begins."""

    far: Callable[[int, int], None]
    stage: Callable[[str], None]

    def __call__(self, done: int, total: int) -> None:
        """So many of so many are done."""
        self.far(done, total)


@contextmanager
def progress(what: str) -> Iterator[Report]:
    """Shows a bar while the block runs, and what it is at. Where nobody watches, only what it begins."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield Report(lambda done, total: None, lambda text: output.say(f"tracehooks: {text}"))
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        SpinnerColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        """How many a second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{speed:,.1f}/s" if speed else "", style="dim")

    class Done(MofNCompleteColumn):
        """How many of how many, once that is known."""

        def render(self, task: Task) -> Text:
            return Text("") if task.total is None else super().render(task)

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=BAR_WIDTH),
        Done(),
        Rate(),
        TimeRemainingColumn(),
    )
    console = Console(file=sys.stderr, color_system=output.color_system())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("beginning", total=None)
        yield Report(
            lambda done, total: bar.update(task, description=what, completed=done, total=total),
            lambda text: bar.update(task, description=text),
        )
