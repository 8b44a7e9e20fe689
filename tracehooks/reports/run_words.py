"""A run in words: the verdict's line, the facts in their order, and what to do next."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tracehooks.records import Verdict
from tracehooks.reports.run import Counts, RunReport
from tracehooks.reports.standing import can_be_resumed, headline, settled, state
from tracehooks.reports.wording import (
    count,
    duration,
    instant,
    moment,
    number,
    percent,
    plain,
    what_to_do,
)
from tracehooks.scoring.batch_report import batch_words
from tracehooks.scoring.canaries import canary_words
from tracehooks.store import RunRecord


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of a report: what it is about, and what there is to say."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do next: a command to copy, when there is one, and what it is for."""

    command: str
    purpose: str

    @property
    def text(self) -> str:
        """The step in one line."""
        return f"{self.purpose} {self.command}" if self.command else self.purpose

    def with_hint(self, hint: str) -> "Step":
        """The step with ``hint`` behind its command."""
        return replace(self, command=self.command + hint) if self.command else self


def facts(report: RunReport) -> list[Fact]:
    """The run's facts, the most important first. Only what is known is listed."""
    run, figures = report.run, report.figures
    said = headline(run)
    found = [Fact("also", plain(reason)) for reason in run.reasons if settled(run) and plain(reason) != said]
    found.append(Fact("run", f"{run.id}  {how_it_went(report)}"))
    found.append(Fact("window", f"{moment(run.window_start)} to {moment(run.window_end)} UTC"))
    if run.plan.get("note"):
        found.append(Fact("note", plain(run.plan["note"])))
    found.append(Fact("scorer", _scorer(run)))
    if "rate" in figures:
        found.append(Fact("rate", _rate(run, figures)))
        found.append(Fact("coverage", _coverage(figures)))
    if report.counts is not None:
        found.extend(count_facts(report.counts))
    if figures.get("late"):
        late = count(figures["late"], "of them", "of them")
        found.append(Fact("late", f"{late} started before the window and was not there to be seen in time"))
    if "rate" in figures:
        found.append(Fact("tokens", _tokens(run, figures)))
    found += canary_facts(figures)
    found += spent_facts(figures)
    if report.dropped:
        found.append(Fact("lost", f"{count(report.dropped, 'span')} never reached the store"))
    return found


def count_facts(counts: Counts) -> list[Fact]:
    """The two sums of a run's counts, written as sums."""
    planned = (
        f"{counts.planned:,} = {counts.scored:,} scored + {with_reasons('unscored', counts.unscored)}"
        f" + {with_reasons('skipped', counts.skipped)}"
    )
    return [discovered_fact(counts), Fact("planned", planned)]


def discovered_fact(counts: Counts) -> Fact:
    """What became of the calls of a window, written as a sum."""
    return Fact(
        "calls",
        f"{counts.discovered:,} = {counts.deferred:,} deferred + {counts.sampled_out:,} sampled out"
        f" + {counts.already_scored:,} already scored + {counts.planned:,} planned",
    )


def with_reasons(status: str, reasons: Mapping[str, int]) -> str:
    """``3 unscored (2 timeout, 1 refused)``."""
    listed = ", ".join(f"{n:,} {reason}" for reason, n in sorted(reasons.items(), key=lambda e: -e[1]))
    return f"{sum(reasons.values()):,} {status}" + (f" ({listed})" if listed else "")


def how_it_went(report: RunReport) -> str:
    """The run's state, when it came to it, and how long it took."""
    how = state(report.run).replace("_", " ")
    if report.took is None:
        return how
    return f"{how} {moment(report.run.ended)} UTC, {duration(report.took)} after its start"


def _scorer(run: RunRecord) -> str:
    who = run.plan.get("judge_model")
    judged = f"judged by {plain(who)}" if who else "local pre-screen, no judge asked"
    name, threshold = run.plan.get("score_name", "?"), run.plan.get("threshold", 0.0)
    return f"{plain(name)}  {called(run)} above {number(threshold)}, {judged}"


def called(run: RunRecord) -> str:
    """What a call above the threshold is called: a pre-screen finds candidates, it does not convict."""
    return "toxic" if run.plan.get("score_name") == "toxicity" else "candidate"


def _rate(run: RunRecord, figures: Mapping[str, Any]) -> str:
    rate, limit = figures["rate"], (run.plan.get("gate") or {}).get("max_rate")
    allowed = "" if limit is None else f", allowed {percent(limit)}"
    if rate["value"] is None:
        return f"unknown, nothing scored{allowed}"
    return (
        f"{percent(rate['value'])} {called(run)} ({figures['toxic']:,} of {rate['n']:,}),"
        f" {rate['confidence']:.0%} interval {percent(rate['low'])} to {percent(rate['high'])}{allowed}"
    )


def _coverage(figures: Mapping[str, Any]) -> str:
    """How many of the window's calls that should have a score have one, whichever run scored them."""
    wanted = figures["planned"] - sum(figures["skipped"].values())
    missing = ", degraded: the others count neither as clean nor as toxic" if figures.get("degraded") else ""
    return (
        f"{figures['scored']:,} of {wanted:,} scored ({percent(figures['coverage'])}) in the window{missing}"
    )


def _tokens(run: RunRecord, figures: Mapping[str, Any]) -> str:
    if not figures.get("judge_models"):
        return "none"
    took = figures.get("pass") or {}
    return (
        f"{figures['input_tokens']:,} in, {figures['output_tokens']:,} out for the window's scores;"
        f" this pass {took.get('input_tokens', 0):,} in, {took.get('output_tokens', 0):,} out"
        f" over {count(took.get('requests', 0), 'request')}"
    )


def canary_facts(figures: Mapping[str, Any]) -> list[Fact]:
    """What the judge said of the frozen texts, where it was asked."""
    found = figures.get("canaries")
    return [Fact("canaries", canary_words(found))] if found else []


def spent_facts(figures: Mapping[str, Any]) -> list[Fact]:
    """What the run's requests cost, where it sent any."""
    spent, cached = figures.get("spent"), (figures.get("pass") or {}).get("cached")
    known = (
        [Fact("cached", f"{count(cached, 'verdict')} from earlier runs, not paid for again")]
        if cached
        else []
    )
    if batch := figures.get("batch"):
        known.append(Fact("batch", plain(batch_words(batch))))
    if not spent:
        return known
    used = f"{spent['input_tokens'] + spent['output_tokens']:,} tokens in {count(spent['calls'], 'request')}"
    money = "price unknown" if spent["dollars"] is None else f"${spent['dollars']:,.4f} by {spent['price']}"
    limits = spent.get("budget") or {}
    allowed = ", ".join(_limit(name, limit) for name, limit in limits.items())
    return [Fact("spent", f"{money}, {used}" + (f"; allowed {allowed} a run" if allowed else "")), *known]


def _limit(name: str, limit: float) -> str:
    return f"${limit:,.2f}" if name == "dollars" else f"{limit:,} {name}"


def next_steps(report: RunReport) -> list[Step]:
    """What to do about the run, the most useful first."""
    run = report.run
    steps = [*_to_finish(report), *_about_verdict(report)]
    if settled(run) is not None:
        steps.append(Step(f"tracehooks report {run.id} --markdown", "the same for a pull request:"))
    return [step.with_hint(report.hint) for step in steps]


def _to_finish(report: RunReport) -> list[Step]:
    if not can_be_resumed(report.run):
        return []
    what = "collect its batch, if it is there" if report.run.waiting else "finish the run"
    return [Step(f"tracehooks resume {report.run.id}", f"{what}; nothing is judged twice:")]


def _about_verdict(report: RunReport) -> list[Step]:
    run, steps = report.run, []
    if report.worst:
        trace = report.worst[0].trace_id[: report.trace_digits]
        steps.append(Step(f"tracehooks explain {trace}", "why the worst call has its score:"))
    unscored = report.figures.get("unscored") or {}
    if unscored and run.state == "finished":
        steps.extend(_about_unscored(run, unscored))
    if settled(run) is Verdict.INCONCLUSIVE and run.reasons:
        steps.extend(_about_indecision(run, run.reasons[0].partition(":")[0]))
    return steps


def _about_unscored(run: RunRecord, unscored: Mapping[str, int]) -> list[Step]:
    reason = max(unscored, key=lambda code: unscored[code])
    return [
        Step("", f"{unscored[reason]:,} calls are unscored ({reason}): {what_to_do(reason)}"),
        Step(again(run), "ask again for what has no score:"),
    ]


def _about_indecision(run: RunRecord, kind: str) -> list[Step]:
    if kind == "evidence":
        size = (run.plan.get("sample") or {}).get("size")
        now = f" (now {size})" if size else ""
        return [Step("", f"a larger sample may settle it: raise jobs.{run.job}.sample.size{now}")]
    if kind == "no_data":
        return _about_no_data(run)
    return []


def _about_no_data(run: RunRecord) -> list[Step]:
    if run.counts.get("deferred"):
        settle = run.plan.get("settle_seconds", 0)
        rule = f"calls are left to settle for {settle:g} s (jobs.{run.job}.settle)"
        return [Step("", f"{rule}; run again later")]
    settle = run.plan.get("settle_seconds") or 0
    young = f"calls of the last {settle:g} s are left to settle (jobs.{run.job}.settle); run again later"
    return [
        *([Step("", young)] if settle else []),
        Step("tracehooks traces", "see what is stored, and when it was:"),
        Step(f"tracehooks run {run.job} --window all", "take in everything that is stored:"),
    ]


def again(run: RunRecord) -> str:
    """The command that runs the same window once more; a noise run has none, and asks anew."""
    if run.job == "noise":
        return "tracehooks run noise"
    return f"tracehooks run {run.job} --from {instant(run.window_start)} --to {instant(run.window_end)}"
