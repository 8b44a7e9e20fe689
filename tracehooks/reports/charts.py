"""Charts as SVG without scripts or styles of their own: the page that holds one gives it its colours.

Drawn by pygal, of the extra ``tracehooks[view]``. Each chart stands beside a table that says the same.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any
from xml.etree import ElementTree as ET

from tracehooks.errors import MissingExtraError
from tracehooks.reports.wording import percent

SVG = "http://www.w3.org/2000/svg"
WIDTH, HEIGHT = 720, 240
DROPPED = ("defs", "title")
LABELS = 8
STEPS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One night in a chart: a share with its interval, all in 0..1; None where nothing was measured."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None


def rates(points: Sequence[Point], *, title: str, limit: float | None = None) -> str:
    """The shares of ``points``, oldest first, with their intervals and, dashed, the most that is allowed.

    Raises MissingExtraError without pygal.
    """
    points = _padded(points)
    highest = max([point.high or point.value or 0.0 for point in points] + [limit or 0.0, 0.01])
    top = min(1.0, highest * 1.15)
    chart = _line(points, range=(0, top), value_formatter=_share)
    chart.y_labels = _ticks(top)
    if limit is not None:
        chart.add("allowed", [limit] * len(points), show_dots=False)
    chart.add("rate", [_dot(point) for point in points])
    return _svg(chart, title)


def _padded(points: Sequence[Point]) -> Sequence[Point]:
    """With room on both sides of a single point, or the line of what is allowed would have no length."""
    nothing = Point(label="", value=None)
    return points if len(points) > 1 else (nothing, *points, nothing)


def require() -> None:
    """Raises MissingExtraError when the charts' library is not installed."""
    if find_spec("pygal") is None or find_spec("jinja2") is None:
        raise MissingExtraError("pages and charts need the extra: pip install 'tracehooks[view]'")


def _line(points: Sequence[Point], **options: Any) -> Any:
    chart = _pygal().Line(
        width=WIDTH,
        height=HEIGHT,
        margin=12,
        margin_left=76,  # room for the large figures of a narrow screen
        css=[],
        js=[],
        show_legend=False,
        allow_interruptions=True,
        dots_size=4,
        x_labels_major_count=min(LABELS, max(2, len(points))),
        show_minor_x_labels=len(points) <= LABELS,
        **{"no_data_text": "nothing measured yet", **options},
    )
    chart.x_labels = [point.label for point in points]
    return chart


def _pygal() -> Any:
    require()
    import pygal  # type: ignore[import-untyped]  # it ships no types

    # for plugins that we do not use it leaves a finder behind, which makes Python 3.11 warn at every import
    sys.meta_path[:] = [each for each in sys.meta_path if type(each).__module__ != "pygal"]
    return pygal


def _dot(point: Point) -> dict[str, Any] | None:
    if point.value is None:
        return None
    dot: dict[str, Any] = {"value": point.value}
    if point.low is not None and point.high is not None:
        dot["ci"] = {"low": point.low, "high": point.high}
    return dot


def _ticks(top: float) -> list[float]:
    """Even, round shares from 0 to ``top``, six at most."""
    step = next(step for step in STEPS if top / step < 6)
    return [round(n * step, 3) for n in range(int(top / step + 1e-9) + 1)]


def _share(value: float) -> str:
    return percent(value, 1 if value < 0.1 else 0)


def _svg(chart: Any, title: str) -> str:
    """The chart's markup, of which scripts, styles and tool tips are taken out."""
    root = ET.fromstring(chart.render(is_unicode=True, disable_xml_declaration=True))  # noqa: S314 - made here
    _clean(root)
    root.set("class", "chart")
    root.set("role", "img")
    root.set("aria-label", title)
    root.attrib.pop("id", None)
    ET.register_namespace("", SVG)
    return ET.tostring(root, encoding="unicode")


def _clean(node: ET.Element) -> None:
    for child in list(node):
        name = child.tag.rpartition("}")[2]
        if name in (*DROPPED, "desc") or ("tooltip" in (child.get("class") or "") and name == "g"):
            node.remove(child)
        else:
            child.attrib.pop("style", None)
            _clean(child)
