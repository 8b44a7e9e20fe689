"""A worker in a process of its own: brings one toxicity night after the other to its end, ``CONFIG...``."""

import sys

from tests.stored import NOON
from tracehooks.jobs.toxicity import ToxicityNight
from tracehooks.settings import load_settings
from tracehooks.store import open_store


def main(*configs: str) -> None:
    for config in configs:
        settings = load_settings(config)
        with open_store(settings.store) as store:
            ToxicityNight(settings=settings, store=store, clock=lambda: NOON.replace(hour=20)).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
