"""Many threads that write spans and scores: ``python -m tests.store.writer URL FIRST THREADS EACH BATCH``.

Thread t writes the calls from FIRST + t * EACH on, in batches, and prints ``LAST COUNT`` after each batch
that the store has taken. Waits for a line on stdin before it starts.
"""

import sys
import threading

from tests.store.making import agent_span, call, scored
from tracehooks.store import Store, open_store
from tracehooks.store.encoding import chunks


def write(store: Store, numbers: range, batch: int) -> None:
    for group in chunks(numbers, batch):
        store.spans.add([agent_span(number) for number in group])
        records = [scored(number, call=call(number)) for number in group]
        store.scores.commit(records, project="p", sinks=["jsonl"])
        sys.stdout.write(f"{group[-1]} {len(group)}\n")
        sys.stdout.flush()


def main(url: str, first: int, threads: int, each: int, batch: int) -> None:
    with open_store(url) as store:
        print("ready", flush=True)
        sys.stdin.readline()
        parts = [range(start, start + each) for start in range(first, first + threads * each, each)]
        workers = [threading.Thread(target=write, args=(store, part, batch)) for part in parts]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
