"""Variants one by one, over their repeats."""

import pytest

from tests.noise.making import rows_of
from tracehooks.noise.items import items
from tracehooks.records import Reason


def test_every_repeat_counts_in_its_items_mean_and_spread() -> None:
    """langfuse/langfuse#15935: 4 items with 5 repeats are 20 results, not 4."""
    rows = rows_of({f"q{n}": [0.5 + n / 10 + repeat / 100 for repeat in range(5)] for n in range(4)})
    found = items(rows)
    assert (len(rows), len(found)) == (20, 4)
    assert [item.scored for item in found] == [5] * 4
    assert [item.mean for item in found] == pytest.approx([0.52, 0.62, 0.72, 0.82])
    assert [item.spread for item in found] == pytest.approx([0.0158114] * 4, abs=1e-6)


def test_an_item_without_scores_has_no_number() -> None:
    """And one score alone has no spread."""
    found = items(rows_of({"a": [Reason.TIMEOUT, Reason.TIMEOUT], "b": [0.5, Reason.TIMEOUT]}))
    assert [(item.mean, item.spread, item.scored, item.planned) for item in found] == [
        (None, None, 0, 2),
        (0.5, None, 1, 2),
    ]
