"""The gate in words: what it says of each noise type, and what to do next."""

from collections.abc import Iterator

from tracehooks.noise.ruling import TypeRuling
from tracehooks.reports.gate import NOISE, GatedRun, GateReport
from tracehooks.reports.moved import Moved
from tracehooks.reports.run_words import Step
from tracehooks.reports.standing import can_be_resumed
from tracehooks.reports.wording import count, moment, number

TYPE_HEADINGS = ("noise type", "verdict", "mean", "scored", "reference", "lost", "bounds of the loss", "p")
MOVED_HEADINGS = ("lost", "before", "now", "noise", "case", "variant")


def type_cells(one: TypeRuling) -> tuple[str, ...]:
    """One line of the table of noise types."""
    compared = one.comparison
    known = compared is not None and compared.drop is not None
    bounds = f"{_loss(compared.low)} to {_loss(compared.high)}" if compared and known else "–"
    return (
        one.noise_type,
        one.verdict.value,
        number(one.rows.mean),
        f"{one.rows.scored} of {one.rows.wanted}",
        number(one.reference.mean) if one.reference else "–",
        _loss(compared.drop) if compared and known else "–",
        bounds,
        _p(compared.adjusted) if compared and known else "–",
    )


def _loss(value: float | None) -> str:
    return "–" if value is None else f"{round(value, 3) + 0.0:.3f}"  # no minus before a zero


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def moved_cells(one: Moved) -> tuple[str, ...]:
    """One line of the table of what moved."""
    lost = "–" if one.lost is None else f"{one.lost:+.2f}"
    return (lost, number(one.before), number(one.now), one.noise_type, one.case, one.variant)


def run_line(one: GatedRun) -> str:
    """Which run it is, of which agent, when."""
    if one.run is None:
        return f"no {one.job} run"
    plan = one.run.plan
    version = f" {plan['agent_version']}" if plan.get("agent_version") else ""
    agent = f", agent {plan['agent']}{version}" if plan.get("agent") else ""
    return f"{one.job} run {one.run.id}{agent}, ended {moment(one.run.ended)} UTC"


def reference_line(one: GatedRun) -> str:
    """Which reference it is compared with; empty where there is none."""
    found = one.reference
    if found is None:
        return ""
    return (
        f"{found.id}, number {found.number}, {found.origin} {moment(found.blessed_at)} UTC "
        f"by {found.blessed_by}, {len(found.runs)} of {len(found.candidates)} runs, "
        f"{count(found.repeats, 'answer')} to each variant"
    )


def moved_title(one: GatedRun) -> str:
    """What the list of single answers is about."""
    if one.job != NOISE:
        return "Worst calls"
    return "Below the minimum" if one.reference is None or one.differences else "What moved"


def next_steps(report: GateReport) -> list[Step]:
    """What to do about it, each thing once."""
    found = [step for one in report.runs for step in _steps(one)]
    unique = list({step.text: step for step in found}.values())
    return [step.with_hint(report.hint) for step in unique]


def _steps(one: GatedRun) -> Iterator[Step]:
    run = f" {one.run.id}" if one.run else ""
    if one.run is not None and can_be_resumed(one.run):
        yield Step(f"tracehooks resume{run}", "Finish the run; nobody is asked twice:")
        return
    if one.differences and one.reference is not None:
        if one.run is not None and one.run.plan.get("filters"):
            yield Step("tracehooks run noise", "Ask without filters, as a reference is for all questions:")
        elif not any(text.startswith(("dataset", "agent")) for text in one.differences):
            yield Step(
                "tracehooks reference rejudge", "Judge the reference's stored answers with today's judge:"
            )
        else:
            yield Step("tracehooks reference bless", "Bless runs made under today's conditions:")
        return
    if one.job == NOISE and one.run is not None and one.reference is None:
        yield Step("tracehooks reference bless", "Bless a reference that later runs are compared with:")
    if one.job == NOISE and one.reference is not None and one.moved:
        yield Step(f"tracehooks reference diff{run}", "See all that moved:")
    trace = next((moved.trace_id for moved in one.moved if moved.trace_id), None)
    if one.verdict.value == "fail" and trace:
        yield Step(f"tracehooks explain {trace[:12]}", "See how the worst answer was judged:")
