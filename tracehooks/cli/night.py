"""Running a job in front of somebody: progress, interruption, and the report at the end."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracehooks.cli import output
from tracehooks.cli.options import NIGHTLY
from tracehooks.cli.progress import progress
from tracehooks.cli.signals import Interrupted
from tracehooks.errors import ConfigurationError
from tracehooks.jobs.nightly import Nightly
from tracehooks.jobs.noise import NoiseNight, night_for
from tracehooks.jobs.toxicity import ToxicityNight
from tracehooks.records import Verdict
from tracehooks.reports.run import RunReport, run_report
from tracehooks.reports.run_json import run_dict
from tracehooks.reports.run_terminal import run_renderable
from tracehooks.reports.standing import settled
from tracehooks.reports.terminal import heading
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store

DROPPED, NOT_LOADED, UNDECIDED = 1, 2, 3
BY_WEIGHT = (1, 3, 0)  # fail before undecided before pass
WORDS = {0: "PASS", 1: "FAIL", UNDECIDED: "INCONCLUSIVE"}


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
    """What ``act`` does with the toxicity night, watched. Raises Interrupted for Ctrl-C; the run says so."""
    night = ToxicityNight(settings=settings, store=store, **options)
    return _watched(store, "judging", hint, [night], lambda: [act(night)])[0]


def work_noise(store: Store, night: NoiseNight, *, hint: str = "") -> RunReport:
    """A fresh noise run, watched. Raises Interrupted, with the run marked so, for Ctrl-C."""
    return _watched(store, "replaying", hint, [night], lambda: [night.run()])[0]


def resume_noise(settings: Settings, store: Store, run: RunRecord, *, hint: str = "") -> RunReport:
    """The noise run ``run`` finished, watched."""
    night = night_for(run, settings=settings, store=store)
    return _watched(store, "replaying", hint, [night], lambda: [night.resume(run)])[0]


def work_nightly(store: Store, nightly: Nightly, start: Any, end: Any, *, hint: str = "") -> list[RunReport]:
    """Both nights, one after the other, watched."""
    return _watched(store, "judging", hint, nightly.nights, lambda: nightly.run(start, end))


def _watched(
    store: Store,
    what: str,
    hint: str,
    nights: Sequence[ToxicityNight | NoiseNight],
    act: Callable[[], Sequence[RunRecord]],
) -> list[RunReport]:
    with progress(what) as report:
        for night in nights:
            if isinstance(night, NoiseNight):
                night.progress = lambda _what, done, total: report(done, total)
            else:
                night.progress = lambda tally, total: report(tally.done, total)
                night.stage = report.stage
        try:
            with output.kept_clean():
                runs = act()
        except KeyboardInterrupt:
            raise Interrupted(_put_away(store, nights[0].owner, hint)) from None
    return [run_report(store, run, hint=hint) for run in runs]


def _put_away(store: Store, owner: str, hint: str) -> str:
    """Mark the run that this process was at as interrupted; returns what to tell about it."""
    run = next((run for run in store.runs.list(limit=20) if run.owner == owner), None)
    if run is None:
        return "interrupted before a run had begun; nothing was judged"
    if run.state == "running":
        store.runs.update(run.id, state="interrupted")
    left = store.items.remaining(run.id)
    unasked = store.replays.counts(run.id).waiting
    asked = f"{unasked:,} questions not asked and " if unasked else ""
    return f"interrupted with {asked}{left:,} calls not judged yet; `tracehooks resume{hint}` goes on"


def conclude(report: RunReport, *, strict: bool, as_json: bool) -> int:
    """Print the report; returns the exit code, that of the verdict unless ``strict`` finds spans lost."""
    code = _strict_code(report, strict=strict)
    if as_json:
        output.show_json({**run_dict(report), "exit_code": code})
    else:
        output.show(run_renderable(report))
    return code


def conclude_nightly(
    reports: Sequence[RunReport], errors: Mapping[str, str], *, strict: bool, as_json: bool
) -> int:
    """Print the reports of all jobs, and one verdict over them; returns its code.

    ``errors`` tell why a job could not be loaded: what is said is of the others, and the code is 2.
    """
    codes = [_strict_code(report, strict=strict) for report in reports]
    verdict = next((each for each in BY_WEIGHT if each in codes), UNDECIDED)
    if errors and verdict == 0:
        verdict = UNDECIDED  # half a night has not passed
    code = NOT_LOADED if errors else verdict
    if as_json:
        found = {"job": NIGHTLY, "verdict": WORDS[verdict].lower(), "exit_code": code}
        told = {"errors": dict(errors)} if errors else {}
        output.show_json({**found, **told, "runs": [run_dict(report) for report in reports]})
        return code
    for report in reports:
        output.show(run_renderable(report))
        output.write("\n")
    halves = [f"{one.run.job} {settled(one.run) or Verdict.INCONCLUSIVE}" for one in reports]
    halves += [f"{job} not run" for job in errors]
    output.show(heading(WORDS[verdict], f"{NIGHTLY}: {', '.join(halves)}"))
    for job, why in errors.items():
        output.say(f"tracehooks: {job} was not run: {why}", style="red")
    return code


def _strict_code(report: RunReport, *, strict: bool) -> int:
    if not (strict and report.dropped and report.exit_code == 0):
        return report.exit_code
    output.say(f"--strict: {report.dropped:,} spans were lost before they reached the store", style="red")
    return DROPPED
