"""Judging a reference again, as the settings are now."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

from tracehooks.cli import output
from tracehooks.cli.progress import progress
from tracehooks.reference import Reference
from tracehooks.settings import Settings

UNDECIDED = 3


def judged_again(settings: Settings, before: Reference, by: str) -> Reference:
    """``before`` with its answers judged by the scorer of the settings; not stored."""
    from tracehooks.jobs.noise_setup import prompt_hash
    from tracehooks.noise.reading import read_datasets
    from tracehooks.reference.rejudging import Rejudging
    from tracehooks.reference.rejudging import rejudge as judge_again
    from tracehooks.scorers.loading import noise_scorer

    scorer = noise_scorer(settings)
    conditions = replace(
        before.conditions,
        score_name=scorer.name,
        scorer_version=scorer.version,
        judge_model=getattr(getattr(scorer, "judge", None), "model", None),
        prompt_hash=prompt_hash(scorer),
    )
    datasets = read_datasets(settings.jobs.noise.datasets)
    with progress("judging") as report:
        how = Rejudging(
            scorer=scorer,
            conditions=conditions,
            by=by,
            at=datetime.now(UTC),
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
