"""The first page: the last verdicts, what needs attention, and the trend."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from tracehooks.records import Verdict
from tracehooks.reports.pages import render
from tracehooks.reports.run_html import rate_chart
from tracehooks.reports.standing import can_be_resumed, headline, mark, settled
from tracehooks.reports.trend import Night, comparable, nights
from tracehooks.reports.wording import count
from tracehooks.store import RunRecord, Store
from tracehooks.store.search import CallQuery
from tracehooks.web.listed import rows

RUNS_LOOKED_AT = 200
CALLS_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Concern:
    """Something that a person should look at; ``grave`` when it failed, else it is in doubt."""

    text: str
    href: str = ""
    grave: bool = False


@dataclass(frozen=True, slots=True)
class Trend:
    """The nights of one job and score, oldest first."""

    title: str
    chart: Markup
    nights: Sequence[Night]


def page(store: Store, _: Request) -> Response:
    """The overview of ``store``."""
    runs = store.runs.list(limit=RUNS_LOOKED_AT)
    latest = list({run.job: run for run in reversed(runs)}.values())
    found = store.search.calls(CallQuery(), limit=CALLS_SHOWN)
    values = {
        "place": store.url,
        "here": "overview",
        "latest": sorted(latest, key=lambda run: run.started, reverse=True),
        "concerns": concerns(store, latest),
        "trends": _trends(runs),
        "calls": rows(store, found.calls),
    }
    return HTMLResponse(render("overview.html", values))


def concerns(store: Store, latest: Sequence[RunRecord]) -> list[Concern]:
    """What needs attention, failures first: verdicts, runs that stopped, scores that were not delivered."""
    found = [concern for run in latest if (concern := _about(run))]
    found += [
        Concern(
            f"{count(states['dead'], 'score')} could not be delivered to {sink}: `tracehooks outbox status`"
        )
        for sink, states in store.outbox.counts().items()
        if states.get("dead")
    ]
    return sorted(found, key=lambda concern: not concern.grave)


def _about(run: RunRecord) -> Concern | None:
    href, verdict = f"/runs/{run.id}", settled(run)
    if verdict is Verdict.FAIL:
        return Concern(f"{run.job} failed: {headline(run)}", href, grave=True)
    if verdict is Verdict.INCONCLUSIVE:
        return Concern(f"{run.job} could not decide: {headline(run)}", href)
    if can_be_resumed(run):
        return Concern(f"{run.job}: {headline(run)}; `tracehooks resume` goes on", href)
    if run.report.get("degraded"):
        return Concern(f"{run.job}: {mark(run)}, but some calls have no score", href)
    return None


def _trends(runs: Sequence[RunRecord]) -> list[Trend]:
    seen: dict[tuple[str, str], RunRecord] = {}
    for run in runs:
        name = run.plan.get("score_name")
        if name and "rate" in run.report:
            seen.setdefault((run.job, name), run)
    found = []
    for (job, name), run in seen.items():
        shown = nights(comparable(runs, run), lambda each: f"/runs/{each.id}")
        chart = rate_chart(shown)
        if chart is not None:
            found.append(Trend(f"{job}: rate by {name}", chart, shown))
    return found
