"""The gate for a program. The schema is published: ``config/schemas/gate.schema.json``."""

from typing import Any

from tracehooks.noise.ruling import TypeRuling
from tracehooks.reports.gate import GatedRun, GateReport
from tracehooks.reports.gate_words import next_steps
from tracehooks.reports.moved import Moved

FORM = 1
"""The form of the document; a number that is raised when a key changes its meaning or goes."""


def gate_dict(report: GateReport) -> dict[str, Any]:
    """The verdict with its runs, ready for JSON but for times."""
    return {
        "form": FORM,
        "verdict": report.verdict.value,
        "exit_code": report.exit_code,
        "headline": report.headline,
        "runs": [_run(one) for one in report.runs],
        "next": [step.text for step in next_steps(report)],
    }


def _run(one: GatedRun) -> dict[str, Any]:
    run, plan = one.run, one.run.plan if one.run else {}
    return {
        "job": one.job,
        "run": run.id if run else None,
        "agent": plan.get("agent"),
        "agent_version": plan.get("agent_version"),
        "score": plan.get("score_name"),
        "started": run.started if run else None,
        "ended": run.ended if run else None,
        "verdict": one.verdict.value,
        "reasons": list(one.reasons),
        "notes": list(one.notes),
        "reference": _reference(one),
        "types": [_type(each) for each in one.ruling.types] if one.ruling else [],
        "moved": [moved_dict(each) for each in one.moved],
    }


def _reference(one: GatedRun) -> dict[str, Any] | None:
    found = one.reference
    if found is None:
        return None
    return {
        "id": found.id,
        "number": found.number,
        "blessed_at": found.blessed_at,
        "blessed_by": found.blessed_by,
        "runs": len(found.runs),
        "candidates": len(found.candidates),
        "repeats": found.repeats,
        "differences": list(one.differences),
        "changed_cases": dict(one.changed_cases),
    }


def _type(one: TypeRuling) -> dict[str, Any]:
    compared = one.comparison
    return {
        "type": one.noise_type,
        "verdict": one.verdict.value,
        "reasons": list(one.reasons),
        "mean": one.rows.mean,
        "scored": one.rows.scored,
        "wanted": one.rows.wanted,
        "unscored": dict(one.rows.unscored),
        "skipped": dict(one.rows.skipped),
        "reference_mean": one.reference.mean if one.reference else None,
        "lost": compared.drop if compared else None,
        "low": compared.low if compared else None,
        "high": compared.high if compared else None,
        "p": compared.adjusted if compared else None,
        "detectable": compared.detectable if compared else None,
    }


def moved_dict(one: Moved) -> dict[str, Any]:
    """One line of what moved."""
    return {name: getattr(one, name) for name in Moved.__slots__}
