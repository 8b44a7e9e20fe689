"""A run's report for a program."""

from typing import Any

from tracehooks.reports.links import trace_link
from tracehooks.reports.noise_words import noise_steps
from tracehooks.reports.run import RunReport, WorstCall
from tracehooks.reports.run_words import next_steps
from tracehooks.reports.standing import settled, state


def run_dict(report: RunReport) -> dict[str, Any]:
    """The report by name, ready for JSON but for times; None where a figure is not known."""
    run = report.run
    counts = report.counts.as_dict() if report.counts else None
    steps = noise_steps(report) if report.is_noise else next_steps(report)
    return {
        "run": run.id,
        "job": run.job,
        "state": state(run),
        "verdict": settled(run),
        "exit_code": report.exit_code,
        "reasons": list(run.reasons),
        "window": {"start": run.window_start, "end": run.window_end},
        "started": run.started,
        "ended": run.ended,
        "seconds": report.took.total_seconds() if report.took else None,
        "counts": dict(report.noise_counts) if report.noise_counts else counts,
        "figures": {key: value for key, value in run.report.items() if key != "worst"},
        "worst": [_worst_dict(call, report) for call in report.worst],
        "dropped_spans": report.dropped,
        "plan": dict(run.plan),
        "next": [step.text for step in steps],
    }


def _worst_dict(call: WorstCall, report: RunReport) -> dict[str, Any]:
    return {
        "trace_id": call.trace_id,
        "span_id": call.span_id,
        "name": call.name or None,
        "start": call.start,
        "value": call.value,
        "band": call.band,
        "comment": call.comment,
        "text": call.text,
        "url": trace_link(report.run, call.trace_id, call.span_id),
    }
