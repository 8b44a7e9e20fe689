"""Tables of short cells: on a line where they fit, as records where they do not."""

import pytest
from rich.cells import cell_len

from tests.reports.nights import drawn
from tracehooks.reports.grid import Grid

HEADINGS = ("noise type", "verdict", "mean", "scored", "reference", "bounds of the loss")
ROWS = (
    ("misinformation", "pass", "0.9", "1,200 of 1,200", "0.95", "0.010 to 0.020"),
    ("typos", "inconclusive", "–", "0 of 3", "–", "–"),
)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_grid_breaks_no_heading_and_cuts_no_cell(width: int) -> None:
    """Each figure stands whole beside or below its heading, within the width."""
    text = drawn(Grid(HEADINGS, ROWS, lead=2), width)
    assert max(cell_len(line.rstrip()) for line in text.splitlines()) <= width
    assert "…" not in text
    for piece in (*HEADINGS[2:], *ROWS[0], "typos", "inconclusive", "0 of 3"):
        assert any(piece in line for line in text.splitlines()), piece


def test_a_narrow_grid_is_a_list_of_records_without_what_is_not_known() -> None:
    """Broken between two figures only."""
    lines = drawn(Grid(HEADINGS, ROWS, lead=2), 40).splitlines()
    assert [line.rstrip() for line in lines] == [
        "misinformation  pass",
        "  mean 0.9, scored 1,200 of 1,200,",
        "  reference 0.95,",
        "  bounds of the loss 0.010 to 0.020",
        "typos  inconclusive",
        "  scored 0 of 3",
    ]


def test_a_column_that_holds_nothing_is_left_out() -> None:
    """Without a reference nothing is said of one."""
    text = drawn(Grid(HEADINGS, [(*row[:4], "–", "–") for row in ROWS], lead=2), 120)
    assert text.splitlines()[0].split() == ["noise", "type", "verdict", "mean", "scored"]
