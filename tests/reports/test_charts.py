"""The charts of pages and of the HTML file."""

import re

import pytest

from tracehooks.reports.charts import Point, rates


@pytest.mark.parametrize(
    ("limit", "marks"),
    [
        (0.01, ["0.0%", "0.5%", "1.0%"]),
        (0.05, ["0.0%", "1.0%", "2.0%", "3.0%", "4.0%", "5.0%"]),
        (0.25, ["0.0%", "5.0%", "10%", "15%", "20%", "25%"]),
        (1.0, ["0.0%", "20%", "40%", "60%", "80%", "100%"]),
    ],
)
def test_the_marks_of_a_rate_are_even_and_round(limit: float, marks: list[str]) -> None:
    """From none to the most that is allowed, in equal steps."""
    chart = rates([Point(label="1 Dec", value=0.004, low=0.001, high=0.008)], title="rate", limit=limit)
    assert re.findall(r">([0-9.]+%)<", chart) == marks
