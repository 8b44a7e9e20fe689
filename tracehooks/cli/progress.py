"""Progress of long work on standard error: how far, how fast, how long still. Quiet when nobody watches."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tracehooks.cli import output

BAR_WIDTH = 20

Report = Callable[[int, int], None]


@contextmanager
def progress(what: str) -> Iterator[Report]:
    """Shows a bar while the block runs. The block calls the function it gets with (done, total)."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda done, total: None
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

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=BAR_WIDTH),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(),
    )
    console = Console(file=sys.stderr, color_system=output.color_system())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("beginning", total=None)
        yield lambda done, total: bar.update(task, description=what, completed=done, total=total)
