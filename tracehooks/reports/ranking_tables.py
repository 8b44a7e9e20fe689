"""The ranking of agents for a terminal, in Markdown, and for a program."""

from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from tracehooks.reports.gate_markdown import table
from tracehooks.reports.grid import Grid
from tracehooks.reports.markdown import escaped
from tracehooks.reports.ranking import Mean, Ranked, Ranking
from tracehooks.reports.wording import count, number, plain


def headline(found: Ranking) -> str:
    """Who is first, and over what."""
    first = found.ranked[0]
    over = f"over {', '.join(found.datasets)} by {found.score}"
    if len(found.ranked) == 1:
        return f"{first.agent} is the only one {over}; `tracehooks run noise --agent NAME` adds another"
    return f"{first.agent} is first of {count(len(found.ranked), 'agent')} {over}"


def ranking_renderable(found: Ranking) -> RenderableType:
    """The table, and whose runs are not in it."""
    rows = [cells(place, one) for place, one in enumerate(found.ranked, start=1)]
    left = [Text(plain(f"not compared: {name}: {'; '.join(why)}")) for name, why in found.left_out]
    return Group(
        Text(plain(headline(found)), style="bold"),
        Padding(Grid(headings(found), rows, lead=3), (1, 0, 0, 2)),
        *left,
    )


def ranking_markdown(found: Ranking) -> str:
    """The same for a pull request."""
    rows = [cells(place, one) for place, one in enumerate(found.ranked, start=1)]
    lines = [f"## {escaped(headline(found))}", "", *table(headings(found), rows)]
    lines += [
        "",
        *(f"- not compared: {escaped(name)}: {escaped('; '.join(why))}" for name, why in found.left_out),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def ranking_dict(found: Ranking) -> dict[str, Any]:
    """The same by name."""
    return {
        "score": found.score,
        "datasets": list(found.datasets),
        "ranked": [_as_dict(place, one) for place, one in enumerate(found.ranked, start=1)],
        "not_compared": [{"agent": name, "differences": list(why)} for name, why in found.left_out],
    }


def headings(found: Ranking) -> tuple[str, ...]:
    """The columns: the whole, then each noise type."""
    whole = ("", "agent", "grade", "mean", "95 % interval", "behind the first", "scored")
    return (*whole, *found.ranked[0].types)


def cells(place: int, one: Ranked) -> tuple[str, ...]:
    """One line."""
    behind = "–" if one.behind is None else _figure(one.behind.value) + _in_brackets(_interval(one.behind))
    types = (f"{number(value)} {grade}" for value, grade in one.types.values())
    whole = (str(place), one.agent, one.grade, _figure(one.mean.value), _interval(one.mean), behind)
    return (*whole, f"{one.scored} of {one.wanted}", *types)


def _interval(mean: Mean) -> str:
    return "–" if mean.low is None or mean.high is None else f"{_figure(mean.low)} to {_figure(mean.high)}"


def _in_brackets(text: str) -> str:
    return "" if text == "–" else f" ({text})"


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{round(value, 3) + 0.0:.3f}"


def _as_dict(place: int, one: Ranked) -> dict[str, Any]:
    return {
        "place": place,
        "agent": one.agent,
        "run": one.run.id,
        "grade": one.grade,
        **_mean(one.mean),
        "behind": None if one.behind is None else _mean(one.behind),
        "scored": one.scored,
        "wanted": one.wanted,
        "types": {name: {"mean": value, "grade": grade} for name, (value, grade) in one.types.items()},
    }


def _mean(mean: Mean) -> dict[str, Any]:
    return {"mean": mean.value, "low": mean.low, "high": mean.high, "questions": mean.n}
