"""Judging a reference again, as the settings are now."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

from tracehooks.cli import output
from tracehooks.cli.progress import progress
from tracehooks.reference import Reference
from tracehooks.settings import Settings
from tracehooks.store import Store

UNDECIDED = 3


def judged_again(settings: Settings, store: Store, before: Reference, by: str) -> Reference:
    """``before`` judged by the scorer of the settings, within the day's budget; not stored."""
    from tracehooks.jobs.noise_setup import prompt_hash
    from tracehooks.noise.reading import read_datasets
    from tracehooks.reference.rejudging import Rejudging
    from tracehooks.reference.rejudging import rejudge as judge_again
    from tracehooks.scorers.loading import noise_scorer
    from tracehooks.scoring.spending import spending_by_the_day

    def now() -> datetime:
        return datetime.now(UTC)

    scorer = noise_scorer(settings)
    conditions = replace(
        before.conditions,
        score_name=scorer.name,
        scorer_version=scorer.version,
        judge_model=getattr(getattr(scorer, "judge", None), "model", None),
        prompt_hash=prompt_hash(scorer),
    )
    datasets = read_datasets(settings.jobs.noise.datasets)
    judge = getattr(scorer, "judge", None)
    with spending_by_the_day(settings, store, judge, now), progress("judging") as report:
        how = Rejudging(
            scorer=scorer,
            conditions=conditions,
            by=by,
            at=now(),
            concurrency=settings.judge.concurrency,
            progress=report,
        )
        return asyncio.run(judge_again(before, datasets, how))


def too_few(found: Reference, scored: int, wanted: int, *, as_json: bool) -> int:
    """Say that too few answers could be judged, and why; returns the exit code."""
    reasons: dict[str, int] = {}
    for one in found.rows:
        if one.row.reason is not None:
            reasons[str(one.row.reason)] = reasons.get(str(one.row.reason), 0) + 1
    why = ", ".join(f"{reason} {n}" for reason, n in sorted(reasons.items()))
    message = f"only {scored} of {wanted} answers could be judged ({why}); the reference stays as it was"
    if as_json:
        output.show_json({"error": message, "exit_code": UNDECIDED})
    else:
        output.say(f"tracehooks: {message}", style="yellow")
    return UNDECIDED
