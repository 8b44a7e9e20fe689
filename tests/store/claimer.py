"""Claims a run's items and scores them: ``python -m tests.store.claimer URL RUN OWNER``.

Prints the calls that it took and scored. Waits for a line on stdin before it starts.
"""

import sys
from datetime import timedelta

from tests.store.making import call, scored
from tracehooks.store import open_store


def main(url: str, run_id: str, owner: str) -> None:
    with open_store(url) as store:
        print("ready", flush=True)
        sys.stdin.readline()
        while items := store.items.claim(run_id, owner, 7, timedelta(minutes=5)):
            numbers = [int(item.span_id, 16) for item in items]
            records = [
                scored(number, call=call(number), item=item, run_id=run_id)
                for number, item in zip(numbers, items, strict=True)
            ]
            taken = store.scores.commit(records, project="p", sinks=["jsonl"])
            print(*(number for number, ours in zip(numbers, taken, strict=True) if ours), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
