"""The gate as JUnit XML, which every CI shows: a suite a run, a test a noise type and a test a case.

A fail is a ``failure``, what could not be decided an ``error``; both are red, as the exit code is.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

from tracehooks.noise.minimums import Minimum
from tracehooks.records import Verdict
from tracehooks.reports.gate import GatedRun, GateReport
from tracehooks.reports.moved import Moved

# what XML 1.0 has no way to write
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
TAGS = {Verdict.FAIL: "failure", Verdict.INCONCLUSIVE: "error"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Test:
    suite: str
    name: str
    verdict: Verdict
    message: str
    detail: str = ""


def gate_junit(report: GateReport) -> str:
    """The document, with the counts that it adds up to."""
    root = ElementTree.Element("testsuites", name="tracehooks gate")
    totals = {"tests": 0, "failures": 0, "errors": 0}
    for one in report.runs or (_nothing(report),):
        tests = list(_tests(one))
        counts = {
            "tests": len(tests),
            "failures": sum(test.verdict is Verdict.FAIL for test in tests),
            "errors": sum(test.verdict is Verdict.INCONCLUSIVE for test in tests),
        }
        totals = {name: totals[name] + n for name, n in counts.items()}
        attributes = {name: str(n) for name, n in counts.items()} | _when(one)
        suite = ElementTree.SubElement(root, "testsuite", name=f"tracehooks.{one.job}", attrib=attributes)
        for test in tests:
            _add(suite, test)
    for name, n in totals.items():
        root.set(name, str(n))
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _nothing(report: GateReport) -> GatedRun:
    """What stands for no run at all: a document without tests would be green."""
    return GatedRun(job="gate", run=None, verdict=report.verdict, reasons=(report.headline,))


def _when(one: GatedRun) -> dict[str, str]:
    if one.run is None:
        return {}
    seconds = (one.run.ended - one.run.started).total_seconds() if one.run.ended else 0.0
    return {"timestamp": one.run.started.isoformat(timespec="seconds"), "time": f"{seconds:.3f}"}


def _tests(one: GatedRun) -> Iterator[_Test]:
    """The verdict of the run, then of each noise type, then each case under each type."""
    suite = f"tracehooks.{one.job}"
    yield _Test(
        suite=suite,
        name="verdict",
        verdict=one.verdict,
        message=one.reasons[0] if one.reasons else one.verdict.value,
        detail="\n".join((*one.reasons, *one.notes, *map(_told, one.moved[:50]))),
    )
    for each in one.ruling.types if one.ruling else ():
        yield _Test(
            suite=f"{suite}.{each.noise_type}",
            name="verdict",
            verdict=each.verdict,
            message=each.reasons[0],
            detail="\n".join((*each.reasons, *each.notes)),
        )
        yield from (_case(f"{suite}.{each.noise_type}", minimum) for minimum in each.minimums)


def _case(suite: str, one: Minimum) -> _Test:
    mean = "no score" if one.mean is None else f"mean {one.mean:.2f}"
    message = f"{mean} ({one.scored} of {one.wanted} scored), {one.bound:g} must be reached"
    # a case in doubt decides nothing by itself: its noise type says whether that matters
    return _Test(suite=suite, name=one.case, verdict=one.verdict(doubt=Verdict.PASS), message=message)


def _told(one: Moved) -> str:
    scores = " -> ".join("none" if value is None else f"{value:.2f}" for value in (one.before, one.now))
    return f"{one.case} {one.variant} ({one.noise_type}): {scores}: {one.why} It says now: {one.answer_now}"


def _add(suite: ElementTree.Element, test: _Test) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname=_clean(test.suite), name=_clean(test.name))
    if test.verdict in TAGS:
        found = ElementTree.SubElement(case, TAGS[test.verdict], message=_clean(test.message))
        found.text = _clean(test.detail or test.message)


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
