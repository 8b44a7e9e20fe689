"""The last nights of a job: a rate and its interval for each run that measured one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracehooks.reports.charts import Point
from tracehooks.reports.standing import mark
from tracehooks.reports.wording import moment
from tracehooks.store import RunRecord

NIGHTS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """One run in a trend. ``href`` leads to it where there are pages."""

    run: RunRecord
    when: str
    word: str
    point: Point
    href: str = ""


def nights(runs: Sequence[RunRecord], href: Callable[[RunRecord], str] = lambda run: "") -> list[Night]:
    """The nights of ``runs``, which are given newest first, oldest first and at most NIGHTS.

    Runs that never came to planning are left out; those that measured nothing stay, as gaps.
    """
    shown = [run for run in runs if run.report][:NIGHTS]
    return [
        Night(run=run, when=moment(run.started), word=mark(run), point=_point(run), href=href(run))
        for run in reversed(shown)
    ]


def comparable(runs: Sequence[RunRecord], run: RunRecord) -> list[RunRecord]:
    """Those of ``runs`` that measured what ``run`` did, with the same score: others have no common scale."""
    name = run.plan.get("score_name")
    return [each for each in runs if each.job == run.job and each.plan.get("score_name") == name]


def _point(run: RunRecord) -> Point:
    rate: Mapping[str, Any] = run.report.get("rate") or {}
    return Point(
        label=run.started.strftime("%d %b"),
        value=rate.get("value"),
        low=rate.get("low"),
        high=rate.get("high"),
    )
