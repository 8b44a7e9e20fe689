"""A night with delivery to Langfuse in a process of its own, to be killed: ``CONFIG``.

It goes on with what an earlier process left, and ends when everything is confirmed.
"""

import asyncio
import sys
import time

from tests.stored import NOON, RUDE
from tracehooks.jobs.toxicity import ToxicityNight
from tracehooks.records import AgentCall, Score
from tracehooks.scoring import Deliverer, load_sinks
from tracehooks.scoring.coordinator import this_owner
from tracehooks.settings import Settings, load_settings
from tracehooks.store import Store, open_store

SECONDS = 60.0


class ByWords:
    """Scores by a word, the same each time, after a moment."""

    name, version, direction, threshold, range = "toxicity", "1", "lower", 0.0, (0.0, 1.0)

    async def score(self, call: AgentCall) -> Score:
        await asyncio.sleep(0.01)
        value = 0.8 if RUDE in (call.output or "") else 0.0
        return Score.scored(self.name, value, comment=f"judged: {call.output}")


def main(config: str) -> None:
    settings = load_settings(config, {})
    with open_store(settings.store) as store:
        clock = lambda: NOON.replace(hour=20)  # noqa: E731
        night = ToxicityNight(settings=settings, store=store, scorer=ByWords(), clock=clock)
        begun = store.runs.latest("toxicity")
        if begun is None:
            night.run()
        elif begun.ended is None:
            night.resume(begun)
        finish(settings, store)


def finish(settings: Settings, store: Store) -> None:
    """Deliver and confirm whatever is left."""
    end = time.monotonic() + SECONDS
    deliverer = Deliverer(store, load_sinks(settings), owner=this_owner())
    while time.monotonic() < end:
        deliverer.deliver(10)
        deliverer.confirm(10)
        if not {"pending", "accepted"} & set(store.outbox.counts().get("langfuse", {})):
            return
        time.sleep(0.05)


if __name__ == "__main__":
    main(*sys.argv[1:])
