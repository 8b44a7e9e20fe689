"""A toxicity night in a process of its own, to be killed: ``CONFIG run|resume [kill-at N]``.

``kill-at N`` kills the process between the judge's N-th answer and its commit.
"""

import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from tests.stored import NOON
from tracehooks.jobs.toxicity import ToxicityNight
from tracehooks.settings import load_settings
from tracehooks.store import ScoreRecord, open_store
from tracehooks.store.scores import Scores


def die_before_commit(answers: int) -> None:
    commit = Scores.commit
    seen = 0

    def killing(self: Scores, records: Sequence[ScoreRecord], **more: Any) -> list[bool]:
        nonlocal seen
        seen += len(records)
        if seen >= answers:
            os.kill(os.getpid(), signal.SIGKILL)
        return commit(self, records, **more)

    Scores.commit = killing  # type: ignore[method-assign]


def main(config: str, verb: str, *rest: str) -> None:
    if rest:
        die_before_commit(int(rest[1]))
    settings = load_settings(config)
    with open_store(settings.store) as store:
        night = ToxicityNight(settings=settings, store=store, clock=lambda: NOON.replace(hour=20))
        unfinished = store.runs.latest("toxicity")
        if verb == "resume" and unfinished is not None:
            night.resume(unfinished)
        else:
            night.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
