"""A noise run in words: the facts in their order, the table of its noise types, and what to do next."""

from collections.abc import Mapping, Sequence
from typing import Any

from tracehooks.records import Verdict
from tracehooks.reports.links import link_facts
from tracehooks.reports.run import RunReport
from tracehooks.reports.run_words import Fact, Step, canary_facts, how_it_went, spent_facts, with_reasons
from tracehooks.reports.standing import can_be_resumed, headline, settled
from tracehooks.reports.wording import count, number, plain, what_to_do

LOSS = "lost"
FACTS = "noise_facts"
Entry = Mapping[str, Any]


def noise_facts(report: RunReport) -> list[Fact]:
    """The run's facts, the most important first. Only what is known is listed."""
    run, plan = report.run, report.run.plan
    said = headline(run)
    found = [Fact("also", plain(reason)) for reason in run.reasons if settled(run) and plain(reason) != said]
    found += [Fact("note", plain(note)) for note in report.figures.get("notes") or ()]
    found.append(Fact("run", f"{run.id}  {how_it_went(report)}"))
    found.append(Fact("agent", _agent(plan)))
    found.append(Fact("asked", _asked(plan)))
    found.append(Fact("scorer", _scorer(plan)))
    if "reference" in report.figures:
        found.append(Fact("reference", reference_words(report.figures["reference"], plan)))
    if report.noise_counts:
        found += count_facts(report.noise_counts)
    found += canary_facts(report.figures)
    found += spent_facts(report.figures)
    return [*found, *link_facts(run)]


def count_facts(counts: Mapping[str, Any]) -> list[Fact]:
    """Both sums of a noise run's counts, written as sums."""
    planned = counts.get("planned", 0)
    asked = (
        f"{planned:,} = {counts.get('answered', 0):,} answered + {counts.get('agent_errors', 0):,} failed"
        f" + {counts.get('not_attempted', 0):,} not attempted"
    )
    rows = (
        f"{planned:,} = {counts.get('scored', 0):,} scored"
        f" + {with_reasons('unscored', counts.get('unscored') or {})}"
        f" + {with_reasons('skipped', counts.get('skipped') or {})}"
    )
    return [Fact("calls", asked), Fact("rows", rows)]


def _agent(plan: Entry) -> str:
    version = f" {plain(plan['agent_version'])}" if plan.get("agent_version") else ""
    return f"{plain(plan.get('agent', '?'))}{version}  at {plain(plan.get('agent_target', '?'))}"


def _asked(plan: Entry) -> str:
    names = ", ".join(plain(name) for name in plan.get("datasets") or {})
    cases = sum(len(cases) for cases in (plan.get("cases") or {}).values())
    filters = "".join(
        f"; only {name} {', '.join(map(plain, values))}"
        for name, values in (plan.get("filters") or {}).items()
    )
    times = count(plan.get("repeats", 1), "time")
    if not names:
        return f"nothing{filters}"
    return f"every variant of {count(cases, 'case')} of {names}, {times} each{filters}"


def _scorer(plan: Entry) -> str:
    who = plan.get("judge_model")
    judged = f"judged by {plain(who)}" if who else "by the facts that the cases declare, no judge asked"
    least = (plan.get("gate") or {}).get("min_score")
    side = "at least" if plan.get("direction") != "lower" else "at most"
    needed = "" if least is None else f", {side} {number(least)} needed where a case says nothing else"
    return f"{plain(plan.get('score_name', '?'))}  {judged}{needed}"


def reference_words(reference: Entry | None, plan: Entry) -> str:
    """What the run was compared with."""
    if reference is None:
        return "none, so minimum scores only"
    blessed = f"number {reference['number']}, blessed {str(reference['blessed_at'])[:10]}"
    pooled = f"{count(len(reference['runs']), 'run')} of {count(reference['candidates'], 'candidate')}"
    if reference["differences"]:
        return f"{blessed}, not comparable, so not compared"
    margin = (plan.get("gate") or {}).get("margin")
    return f"{blessed}, {pooled}, margin {number(margin)}"


def type_cells(one: Entry) -> tuple[str, ...]:
    """One noise type as cells: name, verdict, n of n, mean, lowest, needed, loss."""
    rows, comparison = one["rows"], one.get("comparison")
    bounds = {minimum["bound"] for minimum in one["minimums"]}
    needed = number(min(bounds)) + ("–" + number(max(bounds)) if len(bounds) > 1 else "") if bounds else "–"
    lost = number(comparison["drop"]) if comparison else "–"
    return (
        plain(one["type"]),
        str(one["verdict"]),
        f"{rows['scored']:,} of {rows['wanted']:,}",
        number(rows["mean"]),
        number(rows["low"]),
        needed,
        lost,
    )


def lowest_of(types: Sequence[Entry], *, open_ones: int, passed: int) -> list[tuple[Entry, list[Entry]]]:
    """The types that have faulty answers, each with its worst: so many where it did not pass, or did."""
    found = []
    for one in types:
        entries = list(one["lowest"])[: passed if one["verdict"] == Verdict.PASS else open_ones]
        if entries:
            found.append((one, entries))
    return found


def entry_score(entry: Entry) -> str:
    """A variant's mean, what it needs, of how many: ``0.33, 0.7 needed (3 of 3 scored, from 0 to 1)``."""
    scored = f"{entry['scored']} of {entry['wanted']} scored"
    if entry.get("low") != entry.get("high"):
        scored += f", from {number(entry['low'])} to {number(entry['high'])}"
    if entry["mean"] is None:
        return f"no score ({scored})"
    return f"{number(entry['mean'])}, {number(entry['bound'])} needed ({scored})"


def entry_facts(entry: Entry) -> list[Fact]:
    """Question, noisy question and answer of a variant, and why it has its score."""
    answer = entry.get("answer")
    texts = [
        ("question", entry.get("question")),
        ("asked", entry.get("asked")),
        ("answer", answer if answer is not None else "(nothing)"),
        ("why", entry.get("why")),
    ]
    return [Fact(label, plain(text)) for label, text in texts if text]


def noise_steps(report: RunReport) -> list[Step]:
    """What to do about the run, the most useful first."""
    run, figures = report.run, report.figures
    steps: list[Step] = []
    if can_be_resumed(run):
        purpose = "finish the run; nobody is asked twice:"
        steps.append(Step(f"tracehooks resume {run.id}", purpose))
    if figures.get("first_error"):
        steps.append(Step("", "see why the agent fails; its error is above, and on the trace of each call"))
    worst = _worst_trace(figures)
    if worst and settled(run) is not Verdict.PASS:
        trace = worst[: report.trace_digits]
        steps.append(Step(f"tracehooks explain {trace}", "why the worst answer has its score:"))
    steps += _about_unscored(report)
    if settled(run) is Verdict.INCONCLUSIVE and run.reasons and run.reasons[0].startswith("no_data"):
        if "applicable" in run.reasons[0] and run.plan.get("score_name") == FACTS:
            purpose = "see which cases declare no facts, which a run without a judge needs:"
            steps.append(Step("tracehooks datasets validate", purpose))
        steps.append(Step("tracehooks plan noise", "see what would be asked:"))
    if settled(run) is not None:
        steps.append(Step(f"tracehooks report {run.id} --markdown", "the same for a pull request:"))
    return [step.with_hint(report.hint) for step in steps]


def _worst_trace(figures: Entry) -> str | None:
    entries = [entry for one in figures.get("types") or () for entry in one["lowest"] if entry["trace_id"]]
    ranked = sorted(entries, key=lambda entry: (entry["mean"] is None, entry["mean"] or 0.0))
    return next((str(entry["trace_id"]) for entry in ranked), None)


def _about_unscored(report: RunReport) -> list[Step]:
    unscored = {**(report.noise_counts or {}).get("unscored", {})}
    unscored.pop("not_attempted", None)
    if not unscored or report.run.state != "finished":
        return []
    reason = max(unscored, key=lambda code: unscored[code])
    what = f"{unscored[reason]:,} answers are unscored ({reason}): {what_to_do(reason)}"
    again = "then judge the stored answers again; the agent is not asked:"
    return [Step("", what), Step(f"tracehooks resume {report.run.id}", again)]
