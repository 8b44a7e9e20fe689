"""A run's report as one HTML file that loads nothing: to mail, or to keep beside a build."""

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

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
NIGHTS_LOOKED_AT = 200
GRAVEST = (1, 3, 0)


def run_html(reports: Sequence[RunReport], store: Store, *, redact: bool = False) -> str:
    """One or several runs' reports as one page, the gravest verdict first.

    With ``redact`` the file holds no text of any call, and no comment, which may quote one.
    Raises MissingExtraError without the extra ``tracehooks[view]``.
    """
    ranked = sorted(reports, key=lambda report: GRAVEST.index(report.exit_code))
    return render(
        "report.html",
        {
            "parts": [_part(report, store) for report in ranked],
            "style": Markup(style()),  # noqa: S704 - our own file
            "redacted": redact,
            "version": version("tracehooks"),
            "made": datetime.now(UTC),
        },
    )


def _part(report: RunReport, store: Store) -> dict[str, Any]:
    run = report.run
    shown = nights(comparable(store.runs.list(run.job, limit=NIGHTS_LOOKED_AT), run))
    types = run.report.get("types") or ()
    return {
        "run": run,
        "word": mark(run),
        "why": headline(run),
        "nights": shown,
        "chart": rate_chart(shown),
        "called": called(run),
        "matrix": matrix_of(store, run),
        "types": types,
        "lowest": lowest_of(types, open_ones=LOWEST, passed=LOWEST),
        "worst": report.worst,
        "facts_rows": facts_of(report),
        "steps": [step for step in steps_of(report) if "--html" not in step.command],
    }


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
