"""A toxicity night in a process of its own: ``CONFIG HOURS [die-when MOMENT]``; prints the run's state.

HOURS are how many passed since the fixed evening on which the night began. MOMENT is ``made``: the process
kills itself when the server has made the batch, and the store does not know yet; or ``sending``: before that.
"""

import os
import signal
import sys
from datetime import timedelta
from typing import Any

from tests.stored import NOON
from tracehooks.jobs.toxicity import ToxicityNight
from tracehooks.judges.batch_api import BatchApi
from tracehooks.settings import load_settings
from tracehooks.store import open_store


def die(moment: str) -> None:
    submit = BatchApi.submit

    async def killing(self: BatchApi, *words: Any) -> Any:
        if moment == "made":
            await submit(self, *words)
        os.kill(os.getpid(), signal.SIGKILL)

    BatchApi.submit = killing  # type: ignore[method-assign, assignment]


def main(config: str, hours: str, *rest: str) -> None:
    if rest:
        die(rest[1])
    settings = load_settings(config)
    now = NOON.replace(hour=20) + timedelta(hours=float(hours))
    with open_store(settings.store) as store:
        night = ToxicityNight(settings=settings, store=store, clock=lambda: now)
        unfinished = store.runs.latest("toxicity")
        run = night.run() if unfinished is None else night.resume(unfinished)
        print("waiting" if run.waiting else run.state)


if __name__ == "__main__":
    main(*sys.argv[1:])
