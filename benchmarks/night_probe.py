"""One night in a process of its own: ``python -m benchmarks.night_probe STORE JUDGE SIZE``."""

import json
import sys
import time
from datetime import UTC, datetime

from benchmarks.memory import peak_megabytes
from tracehooks.jobs.toxicity import ToxicityNight
from tracehooks.settings import Settings
from tracehooks.store import open_store


def main(store_url: str, judge_url: str, size: int) -> None:
    """Prints the seconds, the peak of the memory, and how many were scored."""
    settings = Settings.model_validate(
        {
            "store": store_url,
            "judge": {"model": "judge-2026", "base_url": judge_url, "api_key": "none", "concurrency": 50},
            "jobs": {"toxicity": {"window": "all", "settle": "0s", "sample": {"size": size}}},
        }
    )
    before = time.monotonic()
    with open_store(store_url) as store:
        night = ToxicityNight(settings=settings, store=store, clock=lambda: datetime.now(UTC))
        run = night.run()
        scored = store.items.outcomes(run.id)["scored"]
    seconds = time.monotonic() - before
    megabytes = peak_megabytes()
    print(json.dumps({"seconds": seconds, "megabytes": megabytes, "scored": scored}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
