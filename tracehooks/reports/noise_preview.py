"""What a noise run would do, before it does it."""

from typing import Any

from rich.console import Group, RenderableType

from tracehooks.jobs.noise_preview import NoisePreview
from tracehooks.reports.estimate import estimate_dict, estimate_facts
from tracehooks.reports.preview import frozen_facts
from tracehooks.reports.run_words import Fact, Step
from tracehooks.reports.terminal import heading, labelled, steps
from tracehooks.reports.wording import count, plain
from tracehooks.settings import AllowanceSettings


def noise_preview_renderable(
    preview: NoisePreview, *, hint: str = "", budget: AllowanceSettings | None = None
) -> RenderableType:
    """The preview for a terminal. ``budget`` is what a run may use."""
    found = [Fact("agent", _agent(preview)), Fact("asked", _asked(preview)), Fact("scorer", _scorer(preview))]
    if preview.by_type:
        types = ", ".join(f"{plain(name)} {n:,}" for name, n in preview.by_type.items())
        found.append(Fact("variants", types))
    found.append(Fact("reference", preview.reference or "none, so minimum scores only"))
    found += [Fact("unlike", plain(text)) for text in preview.incomparable]
    found += frozen_facts(preview.canaries)
    found += estimate_facts(preview.estimate, budget)
    if preview.asks:
        step = Step(f"tracehooks run noise{hint}", "nothing was written; to do it:")
    else:
        step = Step("", "there is nothing to ask; see jobs.noise.datasets and the filters")
    return Group(heading("PLAN", _sentence(preview)), "", labelled(found), *steps("Next", [step]))


def noise_preview_dict(preview: NoisePreview) -> dict[str, Any]:
    """The preview for a program."""
    return {
        "job": "noise",
        "agent": preview.agent,
        "agent_version": preview.agent_version,
        "datasets": dict(preview.datasets),
        "empty": preview.emptiness or None,
        "score": preview.score_name,
        "scorer_version": preview.scorer_version,
        "judge_model": preview.judge_model,
        "judge_calls": preview.judge_calls,
        "reference": preview.reference,
        "incomparable": list(preview.incomparable),
        "types": dict(preview.by_type),
        "canaries": preview.canaries,
        "estimate": estimate_dict(preview.estimate),
        "counts": {
            "cases": preview.cases,
            "variants": preview.variants,
            "repeats": preview.repeats,
            "planned": preview.asks,
        },
    }


def _sentence(preview: NoisePreview) -> str:
    if not preview.asks:
        return f"noise would ask nothing: {plain(preview.emptiness)}"
    asked = f"noise would ask {plain(preview.agent)} {count(preview.asks, 'time')}"
    if not preview.judge_model:
        return f"{asked} and check declared facts; no judge would be asked"
    judged = count(preview.judge_calls, "time")
    return f"{asked}, and {plain(preview.judge_model)} {judged}, retries not counted"


def _agent(preview: NoisePreview) -> str:
    return " ".join(plain(text) for text in (preview.agent, preview.agent_version) if text)


def _asked(preview: NoisePreview) -> str:
    names = ", ".join(map(plain, preview.datasets))
    if not names:
        return "nothing"
    variants, cases = count(preview.variants, "variant"), count(preview.cases, "case")
    return f"{variants} of {cases} of {names}, {count(preview.repeats, 'time')} each"


def _scorer(preview: NoisePreview) -> str:
    return f"{plain(preview.score_name)}, version {plain(preview.scorer_version)}"
