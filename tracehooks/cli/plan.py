"""``tracehooks plan``: what a run would do."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from tracehooks.cli import output
from tracehooks.cli.night import settings_with
from tracehooks.cli.options import (
    NIGHTLY,
    AgentOption,
    CaseOption,
    ConfigOption,
    DatasetOption,
    FromOption,
    JobArgument,
    JsonOption,
    RepeatsOption,
    TagOption,
    ToOption,
    TypeOption,
    WindowOption,
    jobs_named,
    only_for,
    time_option,
)
from tracehooks.cli.session import config_hint, read_settings, reading
from tracehooks.cli.verbs import examples, verb_app
from tracehooks.jobs.noise import NoiseNight
from tracehooks.jobs.noise_preview import NoisePreview
from tracehooks.jobs.toxicity import Preview, ToxicityNight
from tracehooks.reports.egress import Egress, egress, egress_dict, egress_renderable
from tracehooks.reports.noise_preview import noise_preview_dict, noise_preview_renderable
from tracehooks.reports.preview import preview_dict, preview_renderable

app = verb_app()


@app.command(
    epilog=examples(
        "tracehooks plan toxicity",
        "tracehooks plan nightly --window all --json",
        "tracehooks plan nightly --egress",
    )
)
def plan(
    job: JobArgument,
    config: ConfigOption = None,
    start: FromOption = None,
    end: ToOption = None,
    window: WindowOption = None,
    rescore: Annotated[bool, typer.Option("--rescore", help="Count in what has a score already.")] = False,
    dataset: DatasetOption = None,
    case: CaseOption = None,
    tag: TagOption = None,
    noise_type: TypeOption = None,
    repeats: RepeatsOption = None,
    agent: AgentOption = None,
    show_egress: Annotated[
        bool, typer.Option("--egress", help="Say only where text would be sent, and by which setting.")
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Say what a run would do now: its window and calls, or its questions, how often it asks the judge, and
    what that may cost.

    Nothing is written, and neither an agent nor a judge is asked.
    """
    jobs = jobs_named(job)
    only_for(jobs, "toxicity", window=window, rescore=rescore, to=end, **{"from": start})
    only_for(jobs, "noise", dataset=dataset, case=case, tag=tag, repeats=repeats, agent=agent)
    only_for(jobs, "noise", type=noise_type)
    settings = settings_with(read_settings(config), window=window)
    if show_egress:
        return _egress(egress(settings, jobs), as_json=as_json)
    now = datetime.now(UTC)
    toxicity: Preview | None = None
    noise: NoisePreview | None = None
    with reading(settings) as store:
        if "toxicity" in jobs:
            night = ToxicityNight(settings=settings, store=store, rescore=rescore)
            toxicity = night.preview(time_option(start, now), time_option(end, now))
        if "noise" in jobs:
            noise = NoiseNight(
                settings=settings,
                store=store,
                datasets=dataset,
                cases=case,
                tags=tag,
                types=noise_type,
                repeats=repeats,
                agent=agent,
            ).preview()
    if as_json:
        plans = [preview_dict("toxicity", toxicity)] if toxicity else []
        plans += [noise_preview_dict(noise)] if noise else []
        output.show_json({"job": NIGHTLY, "plans": plans} if job == NIGHTLY else plans[0])
        return 0
    hint = config_hint(config)
    if toxicity is not None:
        given = {"--window": window, "--from": start, "--to": end}
        words = "".join(f" {option} {value}" for option, value in given.items() if value)
        output.show(
            preview_renderable(
                "toxicity",
                toxicity,
                given=f"{words}{' --rescore' if rescore else ''}",
                hint=hint,
                budget=settings.budget.run,
            )
        )
    if noise is not None:
        output.show(
            noise_preview_renderable(
                noise,
                hint=_words(dataset, case, tag, noise_type, repeats, agent) + hint,
                budget=settings.budget.run,
            )
        )
    return 0


def _egress(places: list[Egress], *, as_json: bool) -> int:
    if as_json:
        output.show_json({"egress": egress_dict(places)})
    else:
        output.show(egress_renderable(places))
    return 0


def _words(
    dataset: list[str] | None,
    case: list[str] | None,
    tag: list[str] | None,
    noise_type: list[str] | None,
    repeats: int | None,
    agent: str | None,
) -> str:
    """The options again, as they were given."""
    many = {"--dataset": dataset, "--case": case, "--tag": tag, "--type": noise_type}
    found = [f" {option} {value}" for option, values in many.items() for value in values or ()]
    one = {"--repeats": repeats, "--agent": agent}
    return "".join([*found, *(f" {option} {value}" for option, value in one.items() if value is not None)])
