"""Measure one subject in a process of its own: ``python -m benchmarks.probe SUBJECT``.

Prints one JSON line a round: the case, and the CPU seconds of a call of the plain function, with a bare span,
and by the subject; ``*_thread`` is the share of the thread that made the calls. ``is_itself`` says that the
subject's decorator gave back the function itself.
"""

import argparse
import json
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from benchmarks.bare import NullExporter, null_provider
from benchmarks.cases import CASES, Case
from benchmarks.subjects import Subject
from benchmarks.timing import TURN, Run, Turn, calls_for, rounds, warm_up

MOST_CALLS = 1000  # of one turn, so that no background queue overflows (they hold 2048)
MOST_TIMES = 10  # a subject's turn may take that much longer than the bare span's


def measure(case: Case, subject: Subject, count: int, seconds: float) -> Iterator[dict[str, Any]]:
    """One dict a round."""
    tracer = null_provider(NullExporter(), sampled=subject.is_sampled).get_tracer("benchmarks")
    ways = {
        "plain": case.plain_run(),
        "bare": case.bare_run(tracer),
        "subject": _settled(case.traced_run(subject.decorate), subject),
    }
    _make_sure_of_spans(subject, ways["subject"])
    most = min(calls_for(ways["subject"], MOST_TIMES * seconds), MOST_CALLS)
    calls = min(calls_for(ways["bare"], seconds), most)
    warm_up(ways, calls, 3 * seconds)
    is_itself = subject.decorate(case.function) is case.function
    for turns in rounds(ways, calls, count):
        yield {"case": case.name, "calls": calls, "is_itself": is_itself, **_flat(turns)}
    subject.check()


def _make_sure_of_spans(subject: Subject, run: Run) -> None:
    if subject.exporter is None or not subject.is_sampled:
        return
    before = subject.exporter.spans
    run(8)
    if subject.exporter.spans - before != 8:
        raise RuntimeError(f"8 calls made {subject.exporter.spans - before} spans")


def _settled(run: Run, subject: Subject) -> Run:
    """The work in the background belongs to the cost."""

    def run_and_settle(calls: int) -> None:
        run(calls)
        subject.settle()

    return run_and_settle


def _flat(turns: dict[str, Turn]) -> dict[str, float]:
    process = {way: turn.process for way, turn in turns.items()}
    return process | {f"{way}_thread": turn.thread for way, turn in turns.items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.probe", description=__doc__)
    parser.add_argument("subject", help="a module of benchmarks/subjects")
    parser.add_argument("--form", default="default", help="one of the subject's forms")
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=TURN, help="CPU of the bare span in one turn")
    options = parser.parse_args()
    subject = import_module(f"benchmarks.subjects.{options.subject}").subject(options.form)
    for name in options.cases:
        for line in measure(CASES[name], subject, options.rounds, options.seconds):
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
