"""Running a job in front of somebody: progress, interruption, and the report at the end."""

from collections.abc import Callable, Sequence
from typing import Any

from tracehooks.cli import output
from tracehooks.cli.options import NIGHTLY
from tracehooks.cli.progress import progress
from tracehooks.cli.signals import Interrupted
from tracehooks.errors import ConfigurationError
from tracehooks.jobs.toxicity import ToxicityNight
from tracehooks.reports.run import RunReport, run_report
from tracehooks.reports.run_json import run_dict
from tracehooks.reports.run_terminal import run_renderable
from tracehooks.scoring.coordinator import this_owner
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store

DROPPED, UNDECIDED = 1, 3
BY_WEIGHT = (1, 3, 0)  # fail before undecided before pass


def settings_with(settings: Settings, *, window: str | None) -> Settings:
    """The settings with another window for the toxicity night. Raises ConfigurationError for a bad one."""
    if window is None:
        return settings
    from pydantic import ValidationError

    job = settings.jobs.toxicity
    try:
        changed = type(job).model_validate({**job.model_dump(), "window": window})
    except ValidationError:
        raise ConfigurationError(
            f"--window {window!r} is neither all, since_last, nor a duration such as 24h"
        ) from None
    jobs = settings.jobs.model_copy(update={"toxicity": changed})
    return settings.model_copy(update={"jobs": jobs})


def work_night(
    settings: Settings,
    store: Store,
    act: Callable[[ToxicityNight], RunRecord],
    *,
    hint: str = "",
    **options: Any,
) -> RunReport:
    """What ``act`` does with the night, watched. Raises Interrupted, with the run marked so, for Ctrl-C."""
    owner = this_owner()
    with progress("judging") as report:
        night = ToxicityNight(
            settings=settings,
            store=store,
            progress=lambda tally, total: report(tally.done, total),
            owner=owner,
            **options,
        )
        try:
            run = act(night)
        except KeyboardInterrupt:
            raise Interrupted(_put_away(store, owner, hint)) from None
    return run_report(store, run, hint=hint)


def _put_away(store: Store, owner: str, hint: str) -> str:
    """Mark the run that this process was at as interrupted; returns what to tell about it."""
    run = next((run for run in store.runs.list(limit=20) if run.owner == owner), None)
    if run is None:
        return "interrupted before a run had begun; nothing was judged"
    if run.state == "running":
        store.runs.update(run.id, state="interrupted")
    left = store.items.remaining(run.id)
    return f"interrupted with {left:,} calls not judged yet; `tracehooks resume{hint}` goes on"


def conclude(report: RunReport, *, strict: bool, as_json: bool) -> int:
    """Print the report; returns the exit code, that of the verdict unless ``strict`` finds spans lost."""
    code = _strict_code(report, strict=strict)
    if as_json:
        output.show_json({**run_dict(report), "exit_code": code})
    else:
        output.show(run_renderable(report))
    return code


def conclude_nightly(reports: Sequence[RunReport], *, strict: bool, as_json: bool) -> int:
    """Print the reports of all jobs; returns the code of their combined verdict."""
    codes = [_strict_code(report, strict=strict) for report in reports]
    code = next((each for each in BY_WEIGHT if each in codes), UNDECIDED)
    if as_json:
        runs = [run_dict(report) for report in reports]
        output.show_json({"job": NIGHTLY, "exit_code": code, "runs": runs})
    else:
        for report in reports:
            output.show(run_renderable(report))
    return code


def _strict_code(report: RunReport, *, strict: bool) -> int:
    if not (strict and report.dropped and report.exit_code == 0):
        return report.exit_code
    output.say(f"--strict: {report.dropped:,} spans were lost before they reached the store", style="red")
    return DROPPED
