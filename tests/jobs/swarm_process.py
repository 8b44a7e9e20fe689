"""One of many processes at a night, to be killed: ``CONFIG schedule|help|other``.

``schedule`` is a scheduler, ``help`` runs the night's own window by hand, ``other`` a window that holds it.
Each ends when its run has ended.
"""

import sys
import time
from datetime import timedelta

from tests.cli.shop import YESTERDAY
from tracehooks.jobs.scheduler import Scheduler
from tracehooks.jobs.toxicity import ToxicityNight
from tracehooks.settings import load_settings
from tracehooks.store import open_store


def main(config: str, what: str) -> None:
    settings = load_settings(config, {})
    with open_store(settings.store) as store:
        if what == "schedule":
            scheduler = Scheduler(settings, store, look=0.3)
            scheduler.start()
            while not (last := store.firings.latest("toxicity")) or not last.run_id:
                time.sleep(0.2)
            scheduler.stop()
            return
        night = ToxicityNight(settings=settings, store=store)
        if what == "other":
            night.run(YESTERDAY - timedelta(hours=1), YESTERDAY + timedelta(hours=12))
            return
        while not (last := store.firings.latest("toxicity")) or last.window is None:
            time.sleep(0.1)
        night.run(*last.window)


if __name__ == "__main__":
    main(*sys.argv[1:])
