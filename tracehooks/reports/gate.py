"""The gate: one verdict over stored runs, with what moved.

A toxicity run keeps the verdict of its night. A noise run is ruled on again, against the reference in force
now and with the settings as they are: a reference blessed after the run counts. One whose
judge was another than before, by its canaries, stays inconclusive.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tracehooks.gate import EXIT_CODES, combined
from tracehooks.noise.rows import ScoreKind
from tracehooks.noise.ruling import NoiseRuling, rule_on_noise
from tracehooks.records import Verdict
from tracehooks.reference import Reference, differences, reference_for
from tracehooks.replay.rows import ReplayAnswer, answers
from tracehooks.reports import standing
from tracehooks.reports.moved import Moved, moved_since, worst_calls
from tracehooks.reports.wording import moment
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store

NOISE = "noise"
NO_DATA = "no_data: "


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedRun:
    """The verdict on one run. ``run`` is None where there is none to judge.

    ``ruling`` is the noise gate's; ``differences`` is what keeps the run from being compared with the
    ``reference``, ``changed_cases`` which cases of its datasets are not the same (added, removed, changed).
    """

    job: str
    run: RunRecord | None
    verdict: Verdict
    reasons: tuple[str, ...]
    notes: tuple[str, ...] = ()
    ruling: NoiseRuling | None = None
    reference: Reference | None = None
    differences: tuple[str, ...] = ()
    changed_cases: Mapping[str, str] = field(default_factory=dict)
    moved: tuple[Moved, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReport:
    """One verdict over all runs: fail before inconclusive before pass. ``hint`` goes behind commands."""

    runs: tuple[GatedRun, ...]
    hint: str = ""

    @property
    def verdict(self) -> Verdict:
        """The verdict; inconclusive where there is no run."""
        return combined(one.verdict for one in self.runs)

    @property
    def exit_code(self) -> int:
        """0 pass, 1 fail, 3 could not decide."""
        return EXIT_CODES[self.verdict]

    @property
    def headline(self) -> str:
        """The first reason of the run that decides; of every run where all pass."""
        deciding = [one for one in self.runs if one.verdict is self.verdict and one.reasons]
        told = deciding if self.verdict is Verdict.PASS else deciding[:1]
        return "; ".join(one.reasons[0] for one in told) or _no_run(self.hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """How runs are judged: with these settings, at this time.

    A reference older than ``max_age`` gets a note. ``allow_empty`` lets a run with nothing in it pass.
    """

    settings: Settings
    store: Store
    now: datetime
    max_age: timedelta | None = None
    allow_empty: bool = False

    def report(self, runs: Iterable[RunRecord], missing: Iterable[str] = (), *, hint: str = "") -> GateReport:
        """The verdict on ``runs``; ``missing`` are jobs that were asked for and have no run."""
        gated = [self.gated(run) for run in runs]
        gated += [_without_run(job, hint) for job in missing]
        return GateReport(runs=tuple(gated), hint=hint)

    def gated(self, run: RunRecord) -> GatedRun:
        """The verdict on one run."""
        if standing.settled(run) is None:
            reason = f"unfinished: run {run.id}: {standing.headline(run)}"
            return GatedRun(job=run.job, run=run, verdict=Verdict.INCONCLUSIVE, reasons=(reason,))
        return self._noise(run) if run.job == NOISE else _toxicity(run)

    def _noise(self, run: RunRecord) -> GatedRun:
        found = answers(self.store, run)
        kind = kind_of(run)
        reference = reference_for(
            self.store,
            project=self.settings.project,
            agent=str(run.plan.get("agent")),
            score_name=kind.name,
        )
        # a run with nothing in it has nothing to compare, whatever it was of
        unlike = () if reference is None or not found else tuple(differences(reference, run))
        comparable = None if unlike else reference
        ruling = self._ruling(run, found, comparable, kind)
        return GatedRun(
            job=run.job,
            run=run,
            verdict=Verdict.INCONCLUSIVE if run.shift or unlike else ruling.verdict,
            reasons=(*_shift(run), *(f"incomparable: {one}" for one in unlike), *_reasons(run, ruling)),
            notes=(*ruling.notes, *_left_unasked(run), *self._notes(reference, run)),
            ruling=ruling,
            reference=reference,
            differences=unlike,
            changed_cases=changed_cases(reference, run) if unlike else {},
            moved=tuple(moved_since(found, comparable, kind, self.settings.jobs.noise.gate) if found else ()),
        )

    def _ruling(
        self, run: RunRecord, found: Sequence[ReplayAnswer], reference: Reference | None, kind: ScoreKind
    ) -> NoiseRuling:
        gate = self.settings.jobs.noise.gate
        nothing = next((text for text in run.reasons if text.startswith(NO_DATA)), f"{NO_DATA}no variants")
        return rule_on_noise(
            [one.row for one in found],
            None if reference is None else reference.noise_rows,
            kind=kind,
            margin=gate.margin,
            min_score=gate.min_score,
            min_coverage=gate.min_coverage,
            allow_empty=self.allow_empty,
            empty=nothing.removeprefix(NO_DATA),
        )

    def _notes(self, reference: Reference | None, run: RunRecord) -> list[str]:
        if reference is None:
            return [
                "reference: none is blessed, so there are minimum scores only; `tracehooks reference bless`"
            ]
        notes = []
        if run.id in reference.runs:
            notes.append("reference: this run is a part of it, so it is compared with itself")
        if reference.left_out:
            notes.append(
                f"reference: {len(reference.left_out)} of {len(reference.candidates)} comparable runs were "
                f"left out of it: {reference.left_out_because}"
            )
        if self.max_age is not None and self.now - reference.blessed_at > self.max_age:
            days = (self.now - reference.blessed_at).days
            notes.append(
                f"reference: it is {days} days old (blessed {moment(reference.blessed_at)}); bless a new one"
            )
        return notes


def _left_unasked(run: RunRecord) -> list[str]:
    """That filters chose what the run asked, so that nobody takes a part for the whole."""
    filters: Mapping[str, Sequence[str]] = run.plan.get("filters") or {}
    asked = ", ".join(f"only {name} {', '.join(values)}" for name, values in filters.items())
    return [f"filtered: the run asked {asked}; nothing is known of the rest"] if asked else []


def kind_of(run: RunRecord) -> ScoreKind:
    """The kind of the scores of a noise run, as its plan states it."""
    bounds = run.plan.get("range")
    return ScoreKind(
        name=str(run.plan.get("score_name")),
        direction=run.plan["direction"],
        range=None if bounds is None else (float(bounds[0]), float(bounds[1])),
    )


def changed_cases(reference: Reference | None, run: RunRecord) -> dict[str, str]:
    """``dataset/case`` -> added, removed or changed since the reference, where both know their cases."""
    before: Mapping[str, Mapping[str, str]] = {} if reference is None else reference.cases
    now: Mapping[str, Mapping[str, str]] = run.plan.get("cases") or {}
    found: dict[str, str] = {}
    for name in sorted(before.keys() & now.keys()):
        old, new = before[name], now[name]
        for case in sorted(old.keys() | new.keys()):
            if old.get(case) != new.get(case):
                state = "added" if case not in old else "removed" if case not in new else "changed"
                found[f"{name}/{case}"] = state
    return found


def _reasons(run: RunRecord, ruling: NoiseRuling) -> tuple[str, ...]:
    """The ruling's, and what the run says of its agent and its judge, which no row tells."""
    told = [text for text in run.reasons if text.startswith(("agent:", "judge:"))]
    return (*ruling.reasons, *told) if ruling.rows.scored else (*told, *ruling.reasons)


def _shift(run: RunRecord) -> tuple[str, ...]:
    """Why the run's judge is not believed, which stays true whatever is blessed later."""
    return (run.shift,) if run.shift else ()


def _no_run(hint: str) -> str:
    return f"{NO_DATA}no run is stored yet; `tracehooks run nightly{hint}` makes one of each job"


def _without_run(job: str, hint: str) -> GatedRun:
    reason = f"{NO_DATA}no {job} run is stored; `tracehooks run {job}{hint}` makes one"
    return GatedRun(job=job, run=None, verdict=Verdict.INCONCLUSIVE, reasons=(reason,))


def _toxicity(run: RunRecord) -> GatedRun:
    verdict = standing.settled(run) or Verdict.INCONCLUSIVE
    return GatedRun(
        job=run.job, run=run, verdict=verdict, reasons=tuple(run.reasons), moved=tuple(worst_calls(run))
    )
