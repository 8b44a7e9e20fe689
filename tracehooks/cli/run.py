"""``tracehooks run``: a job, now, to its verdict."""

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from tracehooks.cli.night import (
    conclude,
    conclude_nightly,
    settings_with,
    work_night,
    work_nightly,
    work_noise,
)
from tracehooks.cli.options import (
    NIGHTLY,
    AgentOption,
    CaseOption,
    ConfigOption,
    DatasetOption,
    FromOption,
    JobArgument,
    JsonOption,
    NotifyOption,
    RepeatsOption,
    TagOption,
    ToOption,
    TypeOption,
    WindowOption,
    jobs_named,
    only_for,
    time_option,
)
from tracehooks.cli.session import config_hint, read_settings
from tracehooks.cli.telling import tell
from tracehooks.cli.verbs import examples, verb_app
from tracehooks.jobs.nightly import Nightly
from tracehooks.jobs.noise import NoiseNight
from tracehooks.jobs.toxicity import ToxicityNight
from tracehooks.scoring.coordinator import this_owner
from tracehooks.store import open_store

app = verb_app()


@app.command(
    epilog=examples(
        "tracehooks run toxicity",
        "tracehooks run noise --dataset security --repeats 1",
        "tracehooks run nightly --window 24h --json > night.json",
        "tracehooks run toxicity --from 2026-11-29 --to 2026-11-30 --rescore",
    )
)
def run(
    job: JobArgument,
    config: ConfigOption = None,
    start: FromOption = None,
    end: ToOption = None,
    window: WindowOption = None,
    rescore: Annotated[bool, typer.Option("--rescore", help="Judge again what has a score already.")] = False,
    allow_empty: Annotated[
        bool, typer.Option("--allow-empty", help="A window with nothing to judge passes.")
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Exit 1, not 0, when spans of the window were lost on their way to the store."
        ),
    ] = False,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Ask the judge also what another run was answered already.")
    ] = False,
    dataset: DatasetOption = None,
    case: CaseOption = None,
    tag: TagOption = None,
    noise_type: TypeOption = None,
    repeats: RepeatsOption = None,
    agent: AgentOption = None,
    notify: NotifyOption = False,
    as_json: JsonOption = False,
) -> int:
    """Judge the window's calls (toxicity), or ask the agent every noisy question and judge that (noise).

    Scores go onto the traces, and it ends in one verdict; nightly is toxicity and then noise. A second
    toxicity run of the same window judges only what has no score yet; a noise run asks everything anew.
    Where one half of nightly cannot be loaded the other runs all the same, and the exit code is 2.
    Ctrl-C loses nothing: `tracehooks resume` goes on. The exit code is the verdict's: 0 pass, 1 fail, 3
    could not decide.
    """
    jobs = jobs_named(job)
    only_for(jobs, "toxicity", window=window, rescore=rescore, to=end, **{"from": start})
    only_for(jobs, "noise", dataset=dataset, case=case, tag=tag, repeats=repeats, agent=agent)
    only_for(jobs, "noise", type=noise_type)
    settings, hint = settings_with(read_settings(config), window=window), config_hint(config)
    now = datetime.now(UTC)
    since, until = time_option(start, now), time_option(end, now)
    with open_store(settings.store) as store:
        both: dict[str, Any] = {
            "settings": settings,
            "store": store,
            "allow_empty": allow_empty,
            "cache": not no_cache,
            "owner": this_owner(),
        }

        def noise() -> NoiseNight:
            return NoiseNight(
                **both,
                datasets=dataset,
                cases=case,
                tags=tag,
                types=noise_type,
                repeats=repeats,
                agent=agent,
            )

        if job == NIGHTLY:
            nightly = Nightly.of(lambda: ToxicityNight(**both, rescore=rescore), noise)
            reports = work_nightly(store, nightly, since, until, hint=hint)
            tell(settings, store, reports, wanted=notify)
            return conclude_nightly(reports, nightly.errors, strict=strict, as_json=as_json)
        if jobs == ("noise",):
            report = work_noise(store, noise(), hint=hint)
        else:
            report = work_night(act=lambda night: night.run(since, until), hint=hint, rescore=rescore, **both)
        tell(settings, store, [report], wanted=notify)
    return conclude(report, strict=strict, as_json=as_json)
