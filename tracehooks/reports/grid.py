"""A table of short cells, which becomes a list of records where the terminal is too narrow for it."""

from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tracehooks.reports.terminal import cell
from tracehooks.reports.wording import plain

NOTHING = "–"
INDENT = 2


class Grid:
    """Rows under ``headings``, each on a line, without columns that hold nothing. No cell is cut.

    Where they do not fit, each row is a record: its first ``lead`` cells are its head, and the others follow
    below, each behind its heading; those that hold nothing are left out.
    """

    def __init__(self, headings: Sequence[str], rows: Sequence[Sequence[str]], *, lead: int = 1) -> None:
        holding = [at for at in range(len(headings)) if any(row[at] != NOTHING for row in rows)]
        self._headings = [headings[at] for at in holding]
        self._rows = [[row[at] for at in holding] for row in rows]
        self._lead = sum(at < lead for at in holding)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = self._table()
        if Measurement.get(console, options.update(width=10_000), table).maximum <= options.max_width:
            yield table
            return
        for row in self._rows:
            yield Text("  ".join(plain(text) for text in row[: self._lead]), style="bold")
            told = zip(self._headings[self._lead :], row[self._lead :], strict=True)
            known = [(name, text) for name, text in told if text != NOTHING]
            yield Padding(Group(*_told(known, options.max_width - INDENT)), (0, 0, 0, INDENT))

    def _table(self) -> Table:
        made = Table.grid(padding=(0, 2))
        for _ in self._headings:
            made.add_column(no_wrap=True)
        made.add_row(*(Text(heading, style="dim") for heading in self._headings))
        for row in self._rows:
            made.add_row(*(cell(text) for text in row))
        return made


def _told(pairs: Sequence[tuple[str, str]], width: int) -> Iterator[Text]:
    """Lines of ``mean 0.9, scored 3 of 3``, broken between two pairs only."""
    line = Text()
    for at, (name, text) in enumerate(pairs):
        pair = Text.assemble((name, "dim"), " ", plain(text), "," if at < len(pairs) - 1 else "")
        if line and line.cell_len + 1 + pair.cell_len > width:
            yield line
            line = Text()
        line = Text.assemble(line, " ", pair) if line else pair
    yield line
