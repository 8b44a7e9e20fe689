"""A run's report as one HTML file that loads nothing: to mail, or to keep beside a build."""

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version

from markupsafe import Markup

from tracehooks.replay.rows import answers
from tracehooks.reports import charts
from tracehooks.reports.noise_matrix import Matrix, matrix
from tracehooks.reports.noise_words import lowest_of, noise_facts, noise_steps
from tracehooks.reports.pages import render, style
from tracehooks.reports.run import RunReport
from tracehooks.reports.run_words import Fact, Step, called, facts, next_steps
from tracehooks.reports.standing import headline, mark
from tracehooks.reports.trend import Night, comparable, nights
from tracehooks.store import RunRecord, Store

NOISE = "noise"
TEXT_LENGTH = 2000
"""Characters of a call's text that the file holds."""
LOWEST = 5


def run_html(
    report: RunReport, store: Store, history: Sequence[RunRecord] = (), *, redact: bool = False
) -> str:
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
            "matrix": matrix_of(store, run),
            "types": run.report.get("types") or (),
            "lowest": lowest_of(run.report.get("types") or (), open_ones=LOWEST, passed=LOWEST),
            "worst": report.worst,
            "facts_rows": facts_of(report),
            "steps": [step for step in steps_of(report) if "--html" not in step.command],
            "version": version("tracehooks"),
            "made": datetime.now(UTC),
        },
    )


def matrix_of(store: Store, run: RunRecord) -> Matrix | None:
    """The cases of a noise run by noise type; None for another job."""
    if run.job != NOISE:
        return None
    return matrix(answers(store, run), str(run.report.get("direction") or "higher"))


def facts_of(report: RunReport) -> list[Fact]:
    """All there is to know about a run of either job."""
    return noise_facts(report) if report.run.job == NOISE else facts(report)


def steps_of(report: RunReport) -> list[Step]:
    """What to do next about a run of either job."""
    return noise_steps(report) if report.run.job == NOISE else next_steps(report)


def rate_chart(shown: Sequence[Night]) -> Markup | None:
    """The picture of a trend of rates; None for nights that measured none."""
    if not any(night.point.value is not None for night in shown):
        return None
    limit = (shown[-1].run.plan.get("gate") or {}).get("max_rate")
    title = "rate of each night with its interval"
    drawn = charts.rates([night.point for night in shown], title=title, limit=limit)
    return Markup(drawn.replace('class="chart"', 'class="chart rates"', 1))  # noqa: S704 - drawn here, escaped
