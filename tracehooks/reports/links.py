"""Links from a report to where its calls and experiments can be looked at."""

from collections.abc import Iterator

from tracehooks.reports.run_words import Fact
from tracehooks.store import RunRecord


def link_facts(run: RunRecord) -> Iterator[Fact]:
    """The addresses of what a replay became, one a dataset."""
    for backend, links in (run.report.get("links") or {}).items():
        for address in (links.get("experiments") or {}).values():
            yield Fact(backend, address)


def trace_link(run: RunRecord, trace_id: str, span_id: str) -> str | None:
    """The address of a call; None when no backend shows it."""
    for links in (run.report.get("links") or {}).values():
        if pattern := links.get("trace"):
            return str(pattern).format(trace_id=trace_id, span_id=span_id)
    return None
