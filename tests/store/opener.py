"""Opens a store when a line comes on stdin, and writes a span: ``python -m tests.store.opener URL N``."""

import sys

from tests.store.making import agent_span
from tracehooks.store import open_store


def main(url: str, number: str) -> None:
    print("ready", flush=True)
    sys.stdin.readline()
    with open_store(url) as store:
        store.spans.add([agent_span(int(number))])


if __name__ == "__main__":
    main(*sys.argv[1:])
