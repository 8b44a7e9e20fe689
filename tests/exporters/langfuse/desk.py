"""A store with scores on their way to a stand-in, and a clock that the test moves."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.fake_langfuse import FakeLangfuse
from tests.store.making import Clock
from tests.stored import NOON, agent_span, span_id, trace_id
from tracehooks.exporters.langfuse.sink import LangfuseSink
from tracehooks.records import AgentCall, Score, TraceRef
from tracehooks.scoring import Deliverer
from tracehooks.settings import Settings
from tracehooks.store import ScoreRecord, Store, open_store

MODES = ("v3", "dual", "events", "v4.59")
LATER = NOON + timedelta(hours=14)
SEEN = timedelta(seconds=8)  # after which an accepted score is looked for


def settings(server: FakeLangfuse, *, folder: Path | None = None, **more: Any) -> Settings:
    """Settings with the stand-in's keys, and what else is given."""
    keys = {"base_url": server.url, "public_key": server.public_key, "secret_key": server.secret_key}
    keys |= more.pop("langfuse", {})
    store = {} if folder is None else {"store": f"sqlite:///{folder}/store.db"}
    return Settings.model_validate({"project": "shop", "langfuse": keys, **store, **more})


@dataclass
class Desk:
    """Commits scores and has them delivered."""

    server: FakeLangfuse
    folder: Path
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.clock = Clock(LATER)
        self.settings = settings(self.server, **self.options)
        self.sink = LangfuseSink.from_settings(self.settings)
        self.store: Store = open_store(f"sqlite:///{self.folder}/store.db", clock=self.clock)

    def commit(
        self, scores: Sequence[Score], *, start: datetime = NOON, environment: str = "production", **more: Any
    ) -> None:
        """Commit ``scores``, which have targets, of calls that began at ``start``."""
        records = [
            ScoreRecord(score=score, call=_call(score, start, environment), scorer_version="v1", **more)
            for score in scores
        ]
        unwanted = {"langfuse": self.sink.unwanted}
        self.store.scores.commit(records, project="shop", sinks=["langfuse"], unwanted=unwanted)

    def deliver(self) -> bool:
        """One pass over the outbox."""
        return self.deliverer().deliver(60)

    def deliver_all(self) -> None:
        """Pass after pass, the pauses between them left out, until everything is confirmed or dead."""
        for _ in range(30):
            self.deliver()
            if not {"pending", "accepted"} & set(self.counts()):
                return
            self.clock.pass_(seconds=700)

    def deliverer(self, owner: str = "me") -> Deliverer:
        return Deliverer(self.store, {"langfuse": self.sink}, owner=owner)

    def counts(self) -> dict[str, int]:
        return self.store.outbox.counts().get("langfuse", {})

    def close(self) -> None:
        self.store.close()
        self.sink.close()


def toxicity(n: int, value: float, comment: str = "", **metadata: Any) -> Score:
    """A toxicity score of the n-th call."""
    return on(n, "toxicity", value, comment=comment, metadata=metadata)


def on(n: int, name: str, value: Any, **more: Any) -> Score:
    """Any score of the n-th call."""
    return Score.scored(name, value, target=TraceRef(trace_id(n), span_id(n)), **more)


def shown(server: FakeLangfuse, name: str = "toxicity") -> dict[str, Any]:
    """What the server shows, by trace; fails when a trace has two of that name."""
    rows = [row for row in server.scores if row["name"] == name]
    found = {row["traceId"]: row["value"] for row in rows}
    assert len(found) == len(rows)
    return found


def posts(server: FakeLangfuse) -> list[Any]:
    """The requests that wrote scores."""
    paths = ("/api/public/scores", "/api/public/ingestion")
    return [request for request in server.requests if request.method == "POST" and request.path in paths]


def _call(score: Score, start: datetime, environment: str) -> AgentCall:
    assert score.target is not None
    span = agent_span(0, start=start)
    end = start + timedelta(microseconds=(span.end_ns - span.start_ns) // 1000)
    ref = score.target
    return AgentCall(
        trace_id=ref.trace_id, span_id=ref.span_id, name="bot", start=start, end=end, environment=environment
    )
