"""Which server this is: what its API takes and gives, found out once and again when it turns out otherwise.

People run four kinds, and no one request tells them apart:

========== =================== ==================== ================== ======================
kind       version             many scores at once  scores read from   observations read from
========== =================== ==================== ================== ======================
``v3``     3.x                 POST /ingestion      GET /v2/scores     GET /observations
``dual``   4.x in dual mode    POST /ingestion      GET /v3/scores     GET /v2/observations
``events`` 4.x, its default    POST /ingestion      GET /v3/scores     GET /v2/observations
``v4.59``  4.59 and later      POST /scores, lists  GET /v3/scores     GET /v2/observations
========== =================== ==================== ================== ======================
"""

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tracehooks.errors import TracehooksError
from tracehooks.exporters.langfuse.client import Client, Reply

Kind = Literal["v3", "dual", "events", "v4.59"]
Writes = Literal["list", "events", "single"]
FIRST_WITH_LISTS = (4, 59)
FIRST_WITH_EVENTS = (4, 0)
EVENTS_ONLY = "events_only"
ABSENT = frozenset({404, 405})
REMEMBERED = 900.0  # seconds; then the version is asked for again
NO_LIST = b"received array"  # how a server that takes one score answers a list


class ServerProblem(TracehooksError):  # noqa: N818 - it says what it is
    """The server cannot be used as it is, or not with these keys; the message says what to do."""


class WrongKeys(ServerProblem):
    """The server does not take the keys: waiting will not help."""


class AnotherServer(ServerProblem):
    """The server has no longer what it had: it was upgraded, or restored, and is to be found out again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """What one server is like. ``version`` is empty where it does not tell."""

    version: str
    kind: Kind
    writes: Writes

    @property
    def scores_path(self) -> str:
        """Where scores are read: v2 also hides none, v1 does."""
        return "/v2/scores" if self.kind == "v3" else "/v3/scores"

    @property
    def observations_path(self) -> str:
        """Where observations are listed."""
        return "/observations" if self.kind == "v3" else "/v2/observations"

    @property
    def has_dataset_runs(self) -> bool:
        """Whether a replay is a run of a dataset there, by POST /dataset-run-items."""
        return self.kind == "v3"

    @property
    def has_experiments(self) -> bool:
        """Whether a replay is an experiment there, by the attributes of its spans."""
        return self.kind != "v3"


class Server:
    """Tells what the server of ``client`` is like; asks it when that is not known, or may be out of date."""

    def __init__(self, client: Client, clock: Callable[[], float] = time.monotonic) -> None:
        self._client, self._clock = client, clock
        self._lock = threading.Lock()
        self._facts: ServerFacts | None = None
        self._looked = 0.0

    def facts(self) -> ServerFacts:
        """What it is like. Raises Unreachable, or ServerProblem when it takes the keys for wrong, say."""
        with self._lock:
            known, now = self._facts, self._clock()
            if known is not None and now - self._looked < REMEMBERED:
                return known
            version = self._version()
            if known is None or known.version != version:
                self._facts = known = self._find_out(version)
            self._looked = now
            return known

    def forget(self) -> None:
        """It answered otherwise than it should: find out again."""
        with self._lock:
            self._facts = None

    def _version(self) -> str:
        reply = self._client.get("/health")
        if reply.passes and reply.status != 503:  # 503 tells the version too, and that something is amiss
            raise ServerProblem(f"{self._client.base_url} cannot say what it is: {reply.words}")
        said = reply.json()
        return str(said.get("version") or "") if isinstance(said, dict) else ""

    def _find_out(self, version: str) -> ServerFacts:
        number = parsed(version)
        if number >= FIRST_WITH_LISTS:
            self._asked(self._client.get("/v3/scores", limit=1))  # are the keys right?
            return ServerFacts(version=version, kind="v4.59", writes="list")
        v2 = self._asked(self._client.get("/v2/scores", limit=1))
        if EVENTS_ONLY.encode() in v2.body:
            return self._with_writes(version, "events")
        v3 = self._asked(self._client.get("/v3/scores", limit=1))
        if v3.status in ABSENT or (number and number < FIRST_WITH_EVENTS):
            return self._with_writes(version, "v3")
        return self._with_writes(version, "dual" if v2.ok else "v4.59")

    def _with_writes(self, version: str, kind: Kind) -> ServerFacts:
        if not parsed(version) and self._takes_lists():
            return ServerFacts(version=version, kind="v4.59", writes="list")
        reply = self._asked(self._client.post("/ingestion", {"batch": []}))
        return ServerFacts(version=version, kind=kind, writes="events" if reply.ok else "single")

    def _takes_lists(self) -> bool:
        reply = self._asked(self._client.post("/scores", b"[]"))
        return reply.status not in ABSENT and NO_LIST not in reply.body

    def _asked(self, reply: Reply) -> Reply:
        """``reply``, if it tells anything about the server's kind. Raises ServerProblem if not."""
        if reply.status in (401, 403):
            raise WrongKeys(
                f"{self._client.base_url} does not take the keys ({reply.words}); compare them and the host "
                "with the project's settings in Langfuse"
            )
        if reply.passes:
            raise ServerProblem(f"{self._client.base_url} cannot be asked now: {reply.words}")
        return reply


def parsed(version: str) -> tuple[int, ...]:
    """The numbers of a version, ``(4, 16, 0)``; empty when it has none."""
    match = re.match(r"v?(\d+)\.(\d+)(?:\.(\d+))?", version)
    return tuple(int(number) for number in match.groups() if number) if match else ()
