"""A run's report as one HTML file that loads nothing: to mail, or to keep beside a build."""

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version

from markupsafe import Markup

from tracehooks.reports import charts
from tracehooks.reports.pages import render, style
from tracehooks.reports.run import RunReport
from tracehooks.reports.run_words import called, facts, next_steps
from tracehooks.reports.standing import headline, mark
from tracehooks.reports.trend import Night, comparable, nights
from tracehooks.store import RunRecord

TEXT_LENGTH = 2000
"""Characters of a call's text that the file holds."""


def run_html(report: RunReport, history: Sequence[RunRecord] = (), *, redact: bool = False) -> str:
    """The whole report; ``history`` are the job's runs, newest first, for the picture.

    With ``redact`` the file holds no text of any call, and no comment, which may quote one.
    Raises MissingExtraError without the extra ``tracehooks[view]``.
    """
    run = report.run
    shown = nights(comparable(history, run))
    return render(
        "report.html",
        {
            "run": run,
            "word": mark(run),
            "why": headline(run),
            "style": Markup(style()),  # noqa: S704 - our own file
            "redacted": redact,
            "nights": shown,
            "chart": rate_chart(shown),
            "called": called(run),
            "confidence": "95%",
            "sections": (),
            "worst_title": "Worst calls",
            "worst": report.worst,
            "facts_rows": facts(report),
            "steps": [step for step in next_steps(report) if "--html" not in step.command],
            "version": version("tracehooks"),
            "made": datetime.now(UTC),
        },
    )


def rate_chart(shown: Sequence[Night]) -> Markup | None:
    """The picture of a trend of rates; None for nights that measured none."""
    if not any(night.point.value is not None for night in shown):
        return None
    limit = (shown[-1].run.plan.get("gate") or {}).get("max_rate")
    title = "rate of each night with its interval"
    drawn = charts.rates([night.point for night in shown], title=title, limit=limit)
    return Markup(drawn.replace('class="chart"', 'class="chart rates"', 1))  # noqa: S704 - drawn here, escaped
