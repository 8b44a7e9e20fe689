"""Runs: the list, and the page of one."""

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from tracehooks.reports.pages import render
from tracehooks.reports.run import run_report
from tracehooks.reports.run_html import NOISE, TEXT_LENGTH, facts_of, rate_chart, steps_of
from tracehooks.reports.run_words import called
from tracehooks.reports.trend import comparable, nights
from tracehooks.store import Store

LISTED = 200


def listing(store: Store, _: Request) -> Response:
    """The last runs, newest first."""
    values = {"place": store.url, "here": "runs", "runs": store.runs.list(limit=LISTED), "most": LISTED}
    return HTMLResponse(render("runs.html", values))


def page(store: Store, request: Request) -> Response:
    """One run: verdict, picture, worst calls, and all there is to know."""
    run = store.runs.get(request.path_params["run_id"])
    report = run_report(store, run, hint=request.app.state.hint, length=TEXT_LENGTH)
    shown = nights(comparable(store.runs.list(run.job, limit=LISTED), run), lambda each: f"/runs/{each.id}")
    values = {
        "place": store.url,
        "here": "runs",
        "run": run,
        "report": report,
        "called": called(run),
        "nights": shown,
        "chart": rate_chart(shown),
        "facts_rows": facts_of(report),
        "steps": steps_of(report),
        "is_noise": run.job == NOISE,
    }
    return HTMLResponse(render("run.html", values))
