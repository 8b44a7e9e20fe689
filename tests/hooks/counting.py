"""Scorers for tests, and the sums of ``stats()``."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tracehooks.records import AgentCall
from tracehooks.store import Store, StoredScore

ALWAYS = (datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))


@dataclass
class Seen:
    """A scorer that gives every call the same value and keeps what it saw."""

    name: str = "seen"
    value: Any = 0.5
    version: str = "1"
    direction: str = "higher"
    calls: list[AgentCall] = field(default_factory=list)

    async def score(self, call: AgentCall) -> Any:
        self.calls.append(call)
        return self.value

    @property
    def outputs(self) -> list[str | None]:
        """What was judged, sorted."""
        return sorted((call.output for call in self.calls), key=str)


def total(counts: Mapping[str, Any]) -> int:
    """What the parts of ``triggered`` come to."""
    dropped = counts["dropped_scores"] if "dropped_scores" in counts else counts["dropped"]
    parts = (dropped, counts["unscored"], counts["skipped"])
    return int(counts["sampled_out"] + counts["scored"] + sum(sum(part.values()) for part in parts))


def scores_of(store: Store) -> list[StoredScore]:
    """All scores, by the calls' start."""
    return store.scores.page(limit=100_000)
