"""``tracehooks resume``: finish a run that was cut short."""

from tracehooks.cli import output
from tracehooks.cli.night import conclude, resume_noise, work_night
from tracehooks.cli.options import ConfigOption, JsonOption, NotifyOption, RunArgument
from tracehooks.cli.session import config_hint, read_settings, reading
from tracehooks.cli.telling import tell
from tracehooks.cli.verbs import examples, verb_app
from tracehooks.errors import ConfigurationError
from tracehooks.records import Reason
from tracehooks.reports.standing import DONE, at_work
from tracehooks.store import RunRecord, Store

NOISE = "noise"

app = verb_app()


@app.command(epilog=examples("tracehooks resume", "tracehooks resume 4be1a07c --json"))
def resume(
    run: RunArgument = None,
    config: ConfigOption = None,
    notify: NotifyOption = False,
    as_json: JsonOption = False,
) -> int:
    """Finish a run that was interrupted, killed, or failed: the latest such one unless RUN names it.

    One that waits for its batch is finished once that is there. What it judged before stays; of a noise run
    that is named, unscored answers are judged again. With nothing to finish it says so and exits 0; otherwise
    the exit code is the verdict's.
    """
    settings = read_settings(config)
    with reading(settings) as store:
        found = store.runs.get(run) if run else _unfinished(store)
        if found is None or (found.state in DONE and not (run and _has_unscored(found))):
            return _nothing(found, as_json=as_json)
        if at_work(found):
            raise ConfigurationError(f"run {found.id} is being worked on by {found.owner}; wait for it")
        hint = config_hint(config)
        if found.job == NOISE:
            report = resume_noise(settings, store, found, hint=hint)
        else:
            report = work_night(settings, store, lambda night: night.resume(found), hint=hint)
        tell(settings, store, [report], wanted=notify)
    return conclude(report, strict=False, as_json=as_json)


def _has_unscored(run: RunRecord) -> bool:
    """Whether a noise run has stored answers without a score: they can be judged again, nobody is asked."""
    return run.job == NOISE and bool(set(run.counts.get("unscored") or ()) - {Reason.NOT_ATTEMPTED.value})


def _unfinished(store: Store) -> RunRecord | None:
    """The latest run that is not finished and that nobody works on; else one that somebody works on.

    Of runs that wait for a batch, or were killed with one, the first comes first: the others may wait for
    what it brings.
    """
    runs = [run for run in store.runs.list(limit=1000) if run.state not in DONE]
    if runs and runs[0].waiting:
        return next(run for run in reversed(runs) if run.waiting or _was_killed_with_a_batch(store, run))
    return next((run for run in runs if not at_work(run)), next(iter(runs), None))


def _was_killed_with_a_batch(store: Store, run: RunRecord) -> bool:
    if run.state != "running" or at_work(run):
        return False
    return any(not batch.is_over for batch in store.batches.of_run(run.id))


def _nothing(run: RunRecord | None, *, as_json: bool) -> int:
    what = f"run {run.id} is finished" if run else "there is no unfinished run"
    if as_json:
        output.show_json({"resumed": None, "message": f"nothing to resume: {what}"})
    else:
        output.show(f"Nothing to resume: {what}.")
    return 0
