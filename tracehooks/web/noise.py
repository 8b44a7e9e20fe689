"""Noise: a run's cases by noise type, and one case's noisy answers beside its baseline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from tracehooks.records import AgentCall, TraceRef
from tracehooks.replay.rows import ReplayAnswer, answers
from tracehooks.reports.noise_matrix import matrix
from tracehooks.reports.pages import render
from tracehooks.store import RunRecord, Store
from tracehooks.web.differences import Piece, differences

JOB = "noise"
RUNS_SHOWN = 30
ANSWERS = 100


@dataclass(frozen=True, slots=True)
class Beside:
    """One noisy answer with the differences from the baseline marked."""

    answer: ReplayAnswer
    asked: str
    baseline: Sequence[Piece]
    said: Sequence[Piece]


def latest(store: Store, _: Request) -> Response:
    """The last noise run, or how to get one."""
    run = store.runs.latest(JOB)
    if run is not None:
        return RedirectResponse(f"/noise/{run.id}", 303)
    return HTMLResponse(render("noise_none.html", {"place": store.url, "here": "noise"}))


def page(store: Store, request: Request) -> Response:
    """The matrix of one noise run, against its reference where it has one."""
    run = _run(store, request)
    report: Mapping[str, Any] = run.report
    values = {
        "place": store.url,
        "here": "noise",
        "run": run,
        "runs": store.runs.list(JOB, limit=RUNS_SHOWN),
        "matrix": matrix(answers(store, run), str(report.get("direction") or "higher")),
        "types": report.get("types") or [],
        "reference": report.get("reference"),
        "moved": _moved(report.get("types") or ()),
    }
    return HTMLResponse(render("noise.html", values))


def _moved(types: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, float]]:
    """Noise type, case and loss of what moved since the reference, the greatest loss first."""
    found = [
        (str(one["type"]), str(name), float(drop))
        for one in types
        for name, drop in (one.get("comparison") or {}).get("moved") or ()
        if drop
    ]
    return sorted(found, key=lambda entry: -entry[2])


def case(store: Store, request: Request) -> Response:
    """One case of a run: what was asked, and each answer beside the baseline."""
    run = _run(store, request)
    name, noise_type = request.query_params.get("case", ""), request.query_params.get("type", "")
    found = [
        answer
        for answer in answers(store, run)
        if answer.row.case == name and noise_type in ("", answer.row.noise_type)
    ]
    if not found:
        raise HTTPException(404, f"run {run.id} asked nothing of a case {name!r}")
    calls = _calls(store, found)
    known = (run.report.get("baselines") or {}).get(name) or {}
    values = {
        "place": store.url,
        "here": "noise",
        "run": run,
        "case": name,
        "noise_type": noise_type,
        "question": known.get("question"),
        "answers": [_beside(answer, calls, known.get("baseline") or "") for answer in found[:ANSWERS]],
        "total": len(found),
    }
    return HTMLResponse(render("noise_case.html", values))


def _run(store: Store, request: Request) -> RunRecord:
    run = store.runs.get(request.path_params["run_id"])
    if run.job != JOB:
        raise HTTPException(404, f"run {run.id} is no noise run")
    return run


def _calls(store: Store, found: Sequence[ReplayAnswer]) -> dict[tuple[str, str], AgentCall]:
    asked = [answer.replay for answer in found if answer.replay.trace_id and answer.replay.span_id]
    return store.calls.get_many(TraceRef(each.trace_id or "", each.span_id or "") for each in asked)


def _beside(answer: ReplayAnswer, calls: Mapping[tuple[str, str], AgentCall], baseline: str) -> Beside:
    call = calls.get((answer.replay.trace_id or "", answer.replay.span_id or ""))
    left, right = differences(baseline, answer.text or "")
    return Beside(answer, (call.input or "") if call else "", left, right)
