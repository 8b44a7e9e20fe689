"""The jobs that a scheduler knows, by name: for each what brings one run of it to its end."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from tracehooks.jobs.windows import ResolvedWindow, resolve_window
from tracehooks.scoring import Window
from tracehooks.settings import NoiseJob, Settings, ToxicityJob
from tracehooks.store import RunRecord, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a driver is to do: bring the run of ``window`` to its end, or stop when ``halted`` says so."""

    settings: Settings
    store: Store
    window: ResolvedWindow
    owner: str
    clock: Callable[[], datetime]
    halted: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True)
class Driver:
    """How a job is driven.

    ``drive(order)`` returns the run, at its end or interrupted; None while another process works on it. What
    it raises makes the run failed. ``window(settings, store, due)`` is what a run that was due then covers,
    the same whenever it is asked. ``missing(settings)`` says what the job needs and has not, if anything.
    """

    drive: Callable[[Order], RunRecord | None]
    window: Callable[[Settings, Store, datetime], ResolvedWindow]
    missing: Callable[[Settings], str] = lambda settings: ""


def _toxicity(order: Order) -> RunRecord | None:
    from tracehooks.jobs.toxicity import ToxicityNight

    night = ToxicityNight(
        settings=order.settings,
        store=order.store,
        clock=order.clock,
        owner=order.owner,
        halted=order.halted,
    )
    return night.attempt(order.window)


def _noise(order: Order) -> RunRecord | None:
    from tracehooks.jobs.noise import NoiseNight

    night = NoiseNight(
        settings=order.settings,
        store=order.store,
        clock=order.clock,
        owner=order.owner,
        halted=order.halted,
    )
    return night.attempt(order.window.window.start)


def _calls_until(settings: Settings, store: Store, due: datetime) -> ResolvedWindow:
    is_local = settings.source == "local"
    return resolve_window(store, "toxicity", settings.jobs.toxicity, due, is_local=is_local)


def _moment(settings: Settings, store: Store, due: datetime) -> ResolvedWindow:
    return ResolvedWindow(Window(due, due))


def _without_agent(settings: Settings) -> str:
    return "" if settings.agent or settings.agents else "no agent is set (key `agent`)"


DRIVERS: Mapping[str, Driver] = {
    "toxicity": Driver(_toxicity, _calls_until),
    "noise": Driver(_noise, _moment, _without_agent),
}


def job_settings(settings: Settings, job: str) -> ToxicityJob | NoiseJob:
    """The section of the settings that is about ``job``."""
    found: ToxicityJob | NoiseJob = getattr(settings.jobs, job)
    return found


def scheduled_jobs(settings: Settings) -> list[str]:
    """The jobs that have a schedule and what they need."""
    known = (name for name, driver in DRIVERS.items() if not driver.missing(settings))
    return [name for name in known if job_settings(settings, name).schedule is not None]
