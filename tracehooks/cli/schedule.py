"""``tracehooks schedule``: the process that runs the nights when they are due."""

import json
import logging
import threading
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tracehooks.cli import output
from tracehooks.cli.options import ConfigOption
from tracehooks.cli.session import config_hint, read_settings
from tracehooks.cli.verbs import examples, verb_app
from tracehooks.errors import ConfigurationError
from tracehooks.reports.standing import headline, mark
from tracehooks.reports.status import status_dict, status_report
from tracehooks.reports.wording import moment
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store, open_store

if TYPE_CHECKING:
    from tracehooks.jobs.scheduler import Scheduler

UNFINISHED = 1

app = verb_app()


@app.command(epilog=examples("tracehooks schedule", "tracehooks schedule --config /etc/tracehooks.yaml"))
def schedule(config: ConfigOption = None) -> int:
    """Run the jobs of the settings when they are due, until SIGTERM or Ctrl-C.

    Any number of these may share a store: each night is run by one. Each run is one line on standard error.
    Being stopped is its normal end, with 0; 1 when a run would not be put away in time.
    """
    settings = read_settings(config)
    # that it skips a look around while one is going on is nobody's concern
    logging.getLogger("apscheduler").setLevel(logging.ERROR)
    with open_store(settings.store) as store, ExitStack() as stack:
        scheduler = _made(settings, store)
        _serve_health(settings, store, scheduler, stack, config_hint(config))
        _announce(scheduler)
        scheduler.start()
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            output.say("tracehooks: stopping")
        done = scheduler.stop()
    return 0 if done else UNFINISHED


def _made(settings: Settings, store: Store) -> "Scheduler":
    from tracehooks.jobs.belonging import check_project
    from tracehooks.jobs.drivers import DRIVERS
    from tracehooks.jobs.scheduler import Scheduler

    check_project(store, settings.project)
    scheduler = Scheduler(settings, store, ended=_tell)
    for name, driver in DRIVERS.items():
        if reason := driver.missing(settings):
            output.say(f"tracehooks: {name} is not scheduled: {reason}")
    if not scheduler.jobs:
        raise ConfigurationError("no job has a schedule; set jobs.toxicity.schedule")
    if "noise" in scheduler.jobs:
        _check_agents(settings)
    return scheduler


def _check_agents(settings: Settings) -> None:
    """Raises ConfigurationError now for an agent that cannot be loaded, and not in the night."""
    from tracehooks.jobs.noise_setup import chosen_agent

    for name in (*settings.agents, *([None] if settings.agent else [])):
        chosen_agent(settings, name)


def _announce(scheduler: "Scheduler") -> None:
    now = datetime.now(UTC)
    for name, timetable in scheduler.jobs.items():
        following = timetable.after(now)
        when = f"next {following.name}, {moment(following.due)} UTC" if following else "never due"
        output.say(f"tracehooks: {name} is scheduled: {when}")


def _tell(run: RunRecord) -> None:
    output.say(f"tracehooks: {run.job} run {run.id}: {mark(run)}  {headline(run)}")


def _serve_health(
    settings: Settings, store: Store, scheduler: "Scheduler", stack: ExitStack, hint: str
) -> None:
    if settings.scheduler.health is None:
        return
    from tracehooks.jobs.health import Health

    def status() -> tuple[int, str]:
        found = status_report(store, settings, stored=True, hint=hint)
        return found.exit_code, json.dumps(output.plain_data(status_dict(found)), allow_nan=False)

    health = Health(settings.scheduler.health, scheduler.is_alive, status)
    health.start()
    stack.callback(health.stop)
    output.say(f"tracehooks: probes are answered on port {health.port}: /live and /status")
