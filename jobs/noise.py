"""The noise night: the datasets' variants asked of the agent, judged, compared with the reference, ruled on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tracehooks.replay.agents import Agent
from tracehooks.scoring.coordinator import this_owner
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store

JOB = "noise"


def utc_now() -> datetime:
    """The time, aware, in UTC."""
    return datetime.now(UTC)


@dataclass(kw_only=True)
class NoiseNight:
    """One noise night on a store: each variant of the datasets asked so many times, once more from the start.

    ``datasets`` are names among those of the settings, or files; ``cases``, ``tags`` and ``types`` leave out
    what is not of them. ``agent`` is an Agent, a name of ``agents`` in the settings, an import path or an
    address. ``scorer`` is the settings' own unless given.

    ``run.plan`` holds ``agent``, ``agent_version``, ``datasets`` ({name: content hash of what is asked}),
    ``cases`` ({dataset: {case: hash}}), ``score_name``, ``direction``, ``range``, ``scorer_version``,
    ``judge_model``, ``prompt_hash``, ``repeats`` and ``gate``; ``run.report`` the ruling.
    """

    settings: Settings
    store: Store
    scorer: Any = None
    clock: Callable[[], datetime] = utc_now
    progress: Callable[[str, int, int], None] = lambda what, done, total: None
    allow_empty: bool = False
    datasets: Sequence[str] | None = None
    cases: Sequence[str] | None = None
    tags: Sequence[str] | None = None
    types: Sequence[str] | None = None
    repeats: int | None = None
    agent: Agent | str | None = None
    owner: str = field(default_factory=this_owner)

    def run(self) -> RunRecord:
        """Run the night: a fresh pass, whose window is its start."""
        raise NotImplementedError

    def resume(self, run: RunRecord) -> RunRecord:
        """Finish a run that was cut short; what was answered and judged stays."""
        raise NotImplementedError
