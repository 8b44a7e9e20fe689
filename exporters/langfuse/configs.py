"""The project's score configs: what values a score of some name may have there.

The server checks a score that names its config only after it has said yes, and then drops it without a word;
so it is checked here, before it is sent.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracehooks.exporters.langfuse.client import Client
from tracehooks.exporters.langfuse.letters import Unsendable
from tracehooks.exporters.langfuse.server import ServerProblem
from tracehooks.protocols import ScoreRow

PATH = "/score-configs"
PAGE = 100
REMEMBERED = 300.0  # seconds
LONGEST_NAME = 35
ABSENT = 404

Config = Mapping[str, Any]


class ScoreConfigs:
    """Reads the configs, and keeps them for some minutes."""

    def __init__(self, client: Client, clock: Callable[[], float] = time.monotonic) -> None:
        self._client, self._clock = client, clock
        self._lock = threading.Lock()
        self._known: dict[str, list[Config]] | None = None
        self._read_at = 0.0

    def named(self, name: str) -> Sequence[Config]:
        """The configs of this name that are not archived, the newest first."""
        return self.by_name().get(name, ())

    def by_name(self) -> Mapping[str, Sequence[Config]]:
        """All that are not archived, the newest of a name first."""
        with self._lock:
            now = self._clock()
            if self._known is None or now - self._read_at > REMEMBERED:
                self._known, self._read_at = self._read(), now
            return self._known

    def forget(self) -> None:
        """Read them anew the next time."""
        with self._lock:
            self._known = None

    def create(self, name: str, **fields: Any) -> None:
        """Make a config. Raises ServerProblem when the server refuses it."""
        reply = self._client.post(PATH, {"name": name, **fields})
        if not reply.ok:
            raise ServerProblem(f"the score config {name!r} could not be made: {reply.words}")
        self.forget()

    def _read(self) -> dict[str, list[Config]]:
        found: dict[str, list[Config]] = {}
        page, pages = 1, 1
        while page <= pages:
            reply = self._client.get(PATH, limit=PAGE, page=page)
            if reply.status == ABSENT:
                return {}
            said = reply.json()
            if not reply.ok or not isinstance(said, dict):
                raise ServerProblem(f"the project's score configs cannot be read: {reply.words}")
            pages = int((said.get("meta") or {}).get("totalPages") or 1)
            for config in said.get("data") or ():
                if not config.get("isArchived"):
                    found.setdefault(str(config.get("name")), []).append(config)
            page += 1
        for configs in found.values():
            configs.sort(key=lambda config: str(config.get("createdAt")), reverse=True)
        return found


def id_for(score: ScoreRow, configs: Sequence[Config]) -> str | None:
    """Which of ``configs``, all those of its name, ``score`` is to name; None when there are none.

    Names are not unique: of several that take the score, it is the newest. Raises Unsendable when there are
    some and none takes it.
    """
    problems = []
    for config in configs:
        problem = problem_with(score, config)
        if problem is None:
            return str(config["id"])
        problems.append(problem)
    if problems:
        raise Unsendable(f"{problems[0]}; change the score config {score.name!r} in Langfuse, or archive it")
    return None


def problem_with(score: ScoreRow, config: Config) -> str | None:
    """Why the server would drop ``score`` for ``config``; None when it takes it."""
    kind, value = config.get("dataType"), score.value
    if kind != score.data_type:
        return f"the project's score config takes {kind}, and this score is {score.data_type}"
    if isinstance(value, float) and kind == "NUMERIC":
        least, most = config.get("minValue"), config.get("maxValue")
        if least is not None and value < least:
            return f"{value:g} is below the config's minimum {least:g}"
        if most is not None and value > most:
            return f"{value:g} is above the config's maximum {most:g}"
    if kind == "CATEGORICAL":
        labels = [str(category.get("label")) for category in config.get("categories") or ()]
        if value not in labels:
            return f"{value!r} is not among the config's categories {', '.join(labels)}"
    return None
