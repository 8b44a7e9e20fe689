"""Where a run's calls come from: the local store, or a backend that the settings name."""

from collections.abc import Iterator
from datetime import datetime
from importlib.metadata import entry_points

from tracehooks.errors import ConfigurationError
from tracehooks.protocols import CallSource
from tracehooks.records import AgentCall
from tracehooks.settings import FilterSettings, Settings
from tracehooks.store import CallFilter, Store

GROUP = "tracehooks.sources"
LOCAL = "local"
REPLAY = "-replay"


def replay_environment(environment: str) -> str:
    """The environment of the replays of ``environment``: what is asked on purpose is no customer's call."""
    return environment if environment.endswith(REPLAY) else environment + REPLAY


def is_replay(call: AgentCall) -> bool:
    """Whether the call was made by a replay."""
    return call.environment.endswith(REPLAY)


class LocalSource:
    """The calls of the local store that pass the filters; those of replays only if the filters name them."""

    def __init__(self, store: Store, filters: FilterSettings) -> None:
        self._store, self._filters = store, CallFilter(**filters.model_dump())

    def calls(self, start: datetime, end: datetime) -> Iterator[AgentCall]:
        """Every call with ``start <= call.start < end``, ordered by (start, trace, span)."""
        found = self._store.calls.iterate(start, end, self._filters)
        if self._filters.environment:
            return iter(found)
        return (call for call in found if not is_replay(call))


def known_sources() -> list[str]:
    """The names that the setting ``source`` may have."""
    return ["local", *sorted(point.name for point in entry_points(group=GROUP))]


def load_source(settings: Settings, store: Store, filters: FilterSettings) -> CallSource:
    """The source that ``settings.source`` names. Raises ConfigurationError for an unknown one."""
    if settings.source == "local":
        return LocalSource(store, filters)
    for point in entry_points(group=GROUP, name=settings.source):
        source: CallSource = point.load().from_settings(settings, store, filters)
        return source
    names = ", ".join(known_sources())
    raise ConfigurationError(f"source: no source is named {settings.source!r}; known are {names}")
