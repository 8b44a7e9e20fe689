"""What a run would do, before it does it."""

from typing import Any

from rich.console import Group, RenderableType

from tracehooks.jobs.toxicity import Preview
from tracehooks.reports.estimate import estimate_dict, estimate_facts
from tracehooks.reports.run import Counts
from tracehooks.reports.run_words import Fact, Step, discovered_fact
from tracehooks.reports.terminal import heading, labelled, steps
from tracehooks.reports.wording import count, moment, plain
from tracehooks.settings import AllowanceSettings


def preview_renderable(
    job: str, preview: Preview, *, given: str = "", hint: str = "", budget: AllowanceSettings | None = None
) -> RenderableType:
    """The preview for a terminal. ``given`` are its options, ``budget`` is what a run may use."""
    window = f"{moment(preview.window.start)} to {moment(preview.window.end)} UTC"
    found = [Fact("window", window)]
    if preview.note:
        found.append(Fact("note", plain(preview.note)))
    found += [Fact("scorer", _scorer(preview)), discovered_fact(Counts.named(preview.counts))]
    found += frozen_facts(preview.canaries)
    found += estimate_facts(preview.estimate, budget)
    if preview.counts["planned"]:
        step = Step(f"tracehooks run {job}{given}{hint}", "nothing was written; to do it:")
    elif preview.counts["discovered"] and preview.counts["already_scored"] == preview.counts["discovered"]:
        step = Step(
            f"tracehooks run {job}{given} --rescore{hint}", "all of them are scored; to judge them again:"
        )
    else:
        step = Step(f"tracehooks plan {job} --window all{hint}", "nothing would be scored; over all calls:")
    return Group(heading("PLAN", _sentence(job, preview)), "", labelled(found), *steps("Next", [step]))


def frozen_facts(canaries: int) -> list[Fact]:
    """How many frozen texts the judge is given too, where it is given any."""
    return [Fact("canaries", f"{count(canaries, 'frozen text')} judged too")] if canaries else []


def preview_dict(job: str, preview: Preview) -> dict[str, Any]:
    """The preview for a program."""
    return {
        "job": job,
        "window": {"start": preview.window.start, "end": preview.window.end},
        "note": preview.note or None,
        "score": preview.score_name,
        "scorer_version": preview.scorer_version,
        "judge_model": preview.judge_model,
        "judge_calls": preview.judge_calls,
        "counts": dict(preview.counts),
        "canaries": preview.canaries,
        "estimate": estimate_dict(preview.estimate),
    }


def _sentence(job: str, preview: Preview) -> str:
    planned, discovered = preview.counts["planned"], preview.counts["discovered"]
    what = f"{job} would score {planned:,} of {count(discovered, 'call')}"
    if not preview.judge_model:
        return f"{what} with the local pre-screen; no judge would be asked"
    asked = f"ask {plain(preview.judge_model)} {count(preview.judge_calls, 'time')}, retries not counted"
    return f"{what} and {asked}"


def _scorer(preview: Preview) -> str:
    version = f", version {plain(preview.scorer_version)}" if preview.scorer_version else ""
    return f"{plain(preview.score_name)}{version}"
