"""A noise night in a process of its own, to be killed: ``FOLDER run|resume [kill-at N]``.

The agent writes each question that it is asked into ``FOLDER/asked.txt``. ``kill-at N`` kills the process
when the N-th answer has been kept.
"""

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.jobs import quiz
from tracehooks.jobs.noise import NoiseNight, night_for
from tracehooks.store import open_store
from tracehooks.store.replays import Replay, Replays


class Noted(list[str]):
    """Keeps what is appended in a file too."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def append(self, text: str) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(text + "\n")


def die_after(answers: int) -> None:
    finish = Replays.finish
    seen = 0

    def killing(self: Replays, replays: Sequence[Replay]) -> list[bool]:
        nonlocal seen
        kept = finish(self, replays)
        seen += len(replays)
        if seen >= answers:
            os.kill(os.getpid(), signal.SIGKILL)
        return kept

    Replays.finish = killing  # type: ignore[method-assign]


def main(place: str, verb: str, *rest: str) -> None:
    folder = Path(place)
    quiz.ASKED = Noted(folder / "asked.txt")
    if rest:
        die_after(int(rest[1]))
    settings = quiz.settings(folder, concurrency=1)
    with open_store(settings.store) as store:
        unfinished = store.runs.latest("noise")
        if verb == "resume" and unfinished is not None:
            night_for(unfinished, settings=settings, store=store).resume(unfinished)
        else:
            NoiseNight(settings=settings, store=store).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
