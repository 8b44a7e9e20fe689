"""``tracehooks demo``: something to judge, before one's own agent is connected."""

import time
from collections.abc import Mapping
from typing import Annotated, Any

import typer

import tracehooks
from tracehooks.cli import output
from tracehooks.cli.options import ConfigOption, JsonOption
from tracehooks.cli.progress import progress
from tracehooks.cli.session import config_hint, demo_settings, found_config, read_settings, reading
from tracehooks.cli.verbs import examples, verb_app
from tracehooks.errors import StoreError
from tracehooks.reports.run_words import Step
from tracehooks.reports.terminal import steps
from tracehooks.reports.wording import count
from tracehooks.scoring.source import replay_environment
from tracehooks.settings import Settings, format_duration
from tracehooks.store import CallFilter

FLUSH_SECONDS = 60.0

app = verb_app()


@app.command(
    epilog=examples("tracehooks demo", "tracehooks demo --if-empty --config config/demo/tracehooks.yaml")
)
def demo(
    if_empty: Annotated[
        bool, typer.Option("--if-empty", help="Do nothing when the store has calls already.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="Play the first N messages only.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> int:
    """Play a few hundred stored messages through a small traced help desk, some of them answered badly.

    Without a settings file it uses the demo's own, which `--config demo` names to the other verbs. Needs no
    key and no server.
    """
    settings, hint = _settings(config)
    if if_empty and (stored := _stored_calls(settings)):
        message = f"the store has {count(stored, 'call')} already; nothing was played"
        return _told({"traced": 0, "message": message}, message, _next(settings, hint), as_json=as_json)
    from tracehooks import demo as help_desk

    began = time.monotonic()
    tracehooks.init(settings)
    with progress("playing") as report:
        played = help_desk.run(settings, on_progress=report, limit=limit)
    flushed = tracehooks.flush(FLUSH_SECONDS)
    dropped = int(tracehooks.stats().get("dropped", 0))
    tracehooks.shutdown()
    if not flushed or dropped:
        raise StoreError(
            f"{count(dropped, 'span')} of the demo did not reach the store; see `tracehooks doctor`"
        )
    bad = count(len(played.bad), "of them is known to be bad", "of them are known to be bad")
    message = f"traced {count(played.calls, 'call')} in {time.monotonic() - began:.1f} s; {bad}"
    document = {"traced": played.calls, "silent": played.silent, "bad": len(played.bad), "message": message}
    return _told(document, message, _next(settings, hint), as_json=as_json)


def _settings(config: str | None) -> tuple[Settings, str]:
    """The settings to play under, and what a later command needs to use the same."""
    if config is None and found_config(None) is None:
        return demo_settings(), " --config demo"
    return read_settings(config), config_hint(config)


def _stored_calls(settings: Settings) -> int:
    with reading(settings) as store:
        replays = replay_environment(settings.environment)  # of a noise run, which nobody played
        return store.calls.count(filters=CallFilter(exclude_environments=(replays,)))


def _next(settings: Settings, hint: str) -> list[Step]:
    settle = settings.jobs.toxicity.settle
    wait = f" once they have settled ({format_duration(settle)})" if settle else ""
    job = "nightly" if settings.agent or settings.agents else "toxicity"  # noise needs somebody to ask
    return [
        Step(f"tracehooks run {job}{hint}", f"judge them{wait}:"),
        Step(f"tracehooks traces{hint}", "look at them:"),
    ]


def _told(document: Mapping[str, Any], message: str, listed: list[Step], *, as_json: bool) -> int:
    if as_json:
        output.show_json({**document, "next": [step.text for step in listed]})
        return 0
    from rich.console import Group

    output.show(Group(message[0].upper() + message[1:] + ".", *steps("Next", listed)))
    return 0
