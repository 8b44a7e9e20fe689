"""``python -m benchmarks [PART ...]``: print what things cost, and whether that is within their reach."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.status import Status

from benchmarks import (
    canaries,
    decorator,
    imports,
    judge,
    night,
    noise_gate,
    outbox,
    report,
    sampling,
    store,
    viewer,
)
from benchmarks.effort import BRIEF, FULL, QUICK, Effort
from benchmarks.environments import PEERS
from benchmarks.figures import Table

Told = Callable[[str], None]
PARTS = ("decorator", "judge", "store", "outbox", "sampling", "night", "noise", "canaries", "viewer")


def main(arguments: Sequence[str] | None = None) -> int:
    """0 whatever the ratios are: a benchmark informs, it does not gate."""
    options = _parser().parse_args(arguments)
    before = report.machine()
    effort = QUICK if options.quick else BRIEF if options.brief else FULL
    console, tables = Console(), []
    with _progress() as tell:
        for table in measure(options.parts or PARTS, effort, options.peers, tell):
            tables.append(table)
            if not (options.json or options.markdown):
                report.show(table, console)
    if options.json:
        print(json.dumps(report.as_json(tables, before), indent=2))
    elif options.markdown:
        print(report.as_markdown(tables, before), end="")
    else:
        console.print(report.summary(tables), report.footnote(before), sep="\n\n")
    return 0


def measure(parts: Sequence[str], effort: Effort, peers: Sequence[str], tell: Told) -> Iterator[Table]:
    """One table after the other, each as soon as it is there."""
    if "decorator" in parts:
        yield decorator.measure(effort, tell)
        yield imports.measure(effort, tell)
        if peers:
            yield decorator.measure_peers(effort, tell, peers)
    if "judge" in parts:
        yield judge.measure(effort, tell)
    if "store" in parts:
        yield store.measure(effort, tell)
    if "outbox" in parts:
        yield outbox.measure(effort, tell)
    if "sampling" in parts:
        yield sampling.measure(effort, tell)
    if "night" in parts:
        yield night.measure(effort, tell)
    if "noise" in parts:
        yield noise_gate.measure(effort, tell)
    if "canaries" in parts:
        yield canaries.measure(effort, tell)
    if "viewer" in parts:
        yield viewer.measure(effort, tell)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "parts", nargs="*", choices=[[], *PARTS], help=f"of {', '.join(PARTS)}; all by default"
    )
    much = parser.add_mutually_exclusive_group()
    much.add_argument("--brief", action="store_true", help="fewer rounds: soon done, with wider spreads")
    much.add_argument(
        "--quick", action="store_true", help="tiny sizes: shows that it works, measures nothing"
    )
    parser.add_argument(
        "--peers", nargs="*", default=list(PEERS), choices=PEERS, help="products to compare with"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON document")
    form.add_argument("--markdown", action="store_true", help="print the tables for docs/benchmarks.md")
    return parser


@contextmanager
def _progress() -> Iterator[Told]:
    """Says on standard error what is being measured: in one line of a terminal, else in lines."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda what: print(what, file=sys.stderr, flush=True)
        return
    with Status("beginning", console=console) as status:
        yield lambda what: status.update(what)


if __name__ == "__main__":
    sys.exit(main())
