"""Nights over real stores, for reports to tell of."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from rich.console import Console, RenderableType

from tests.stored import NOON
from tracehooks.jobs.toxicity import ToxicityNight
from tracehooks.records import AgentCall, Direction, Score
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store

LATER = NOON + timedelta(hours=2)


@dataclass
class WordScorer:
    """Toxic is who says idiot; `broken` cannot be scored; silence is skipped."""

    name: str = "toxicity"
    version: str = "1"
    direction: Direction = "lower"
    threshold: float = 0.0
    range: tuple[float, float] = (0.0, 1.0)
    toxic: float = 0.8

    async def score(self, call: AgentCall) -> Score:
        if not call.has_text:
            return Score.skipped(self.name, "no_text")
        if "broken" in (call.output or ""):
            return Score.unscored(self.name, "timeout", "no answer within 30 s")
        value = self.toxic if "idiot" in (call.output or "") else 0.0
        return Score.scored(self.name, value, comment=f"toxicity {value}", metadata={"band": "severe"})


class Interrupted(WordScorer):
    """Somebody presses Ctrl-C while it is asked."""

    async def score(self, call: AgentCall) -> Score:
        raise KeyboardInterrupt


def night(store: Store, *, now: datetime = LATER, scorer: Any = None, **job: Any) -> ToxicityNight:
    settings = {"project": "shop", "jobs": {"toxicity": {"settle": 0, "window": "all", **job}}}
    return ToxicityNight(
        settings=Settings.model_validate(settings),
        store=store,
        scorer=scorer or WordScorer(),
        clock=lambda: now,
    )


def run_night(store: Store, **more: Any) -> RunRecord:
    return night(store, **more).run()


def drawn(renderable: RenderableType, width: int = 100) -> str:
    """What a terminal of this width shows."""
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(renderable, crop=False)
    return captured.get()
