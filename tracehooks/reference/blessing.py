"""Blessing: runs become a reference, all of the comparable ones or none.

Whoever may leave out a run that came out badly gets a reference that flatters. So the pool is every finished
run under the same conditions (agent version included) since the blessing before. Some may be left out only
with a reason in words, which stays with the reference, and which `reference show` and the gate repeat.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tracehooks.errors import ConfigurationError
from tracehooks.reference.conditions import Conditions, is_of, unlike
from tracehooks.reference.reference import (
    Reference,
    ReferenceRow,
    fewest_repeats,
    reference_for,
    store_reference,
)
from tracehooks.store import RunRecord, Store

JOB = "noise"
REPEATS = 9
"""Answers to each variant that a reference should have: three runs of three, or one of nine."""
MIN_COVERAGE = 0.9
FAR_BACK = 1000

RowsOf = Callable[[RunRecord], Sequence[ReferenceRow]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blessing:
    """Who blesses, when, and what is accepted: ``fewer`` repeats than nine, a reason to leave runs out."""

    project: str
    by: str
    at: datetime
    fewer: bool = False
    left_out_because: str | None = None


def bless(
    store: Store,
    chosen: Sequence[RunRecord],
    blessing: Blessing,
    rows_of: RowsOf,
    *,
    agent: str | None = None,
) -> Reference:
    """Pool ``chosen``, or without any all comparable runs of ``agent`` since the last blessing; and store it.

    Raises ConfigurationError, and stores nothing, when there is no run, runs cannot be compared with each
    other, some of the comparable ones are missing without a reason, repeats are few, or too few rows have a
    score.
    """
    pool = list(dict.fromkeys(run.id for run in chosen))
    runs = {run.id: run for run in chosen}
    latest = _latest(store, agent, blessing.project) if not runs else next(iter(runs.values()))
    _check_own(runs.values(), blessing.project)
    _check_alike([*runs.values()] or [latest])
    conditions = Conditions.of(latest.plan)
    candidates = _candidates(store, conditions, blessing.project)
    pool = pool or [run.id for run in candidates]
    if not pool:
        raise ConfigurationError(
            "every comparable noise run is blessed already, or had a judge that its canaries doubt; "
            "`tracehooks run noise` makes another"
        )
    known = {run.id: run for run in (*candidates, *runs.values())}
    _check_left_out([run.id for run in candidates if run.id not in pool], blessing)
    answered = {run: rows_of(known[run]) for run in pool}
    rows = _pooled([*answered.values()])
    _check_rows(rows, blessing, lacking=[run for run, own in answered.items() if _without_score(own)])
    return store_reference(
        store,
        Reference(
            project=blessing.project,
            conditions=conditions,
            rows=tuple(rows),
            runs=tuple(pool),
            candidates=tuple(known),
            blessed_at=blessing.at,
            blessed_by=blessing.by,
            cases=latest.plan.get("cases") or {},
            left_out_because=blessing.left_out_because if len(pool) < len(known) else None,
        ),
    )


def _latest(store: Store, agent: str | None, project: str) -> RunRecord:
    """The last finished run that asked everything: a part is blessed only by its name."""
    parts = None
    for run in store.runs.list(JOB, limit=FAR_BACK):
        asked_for = is_of(project, run.plan) and agent in (None, run.plan.get("agent"))
        if run.state == "finished" and asked_for:
            if not run.plan.get("filters"):
                return run
            parts = parts or run
    whose = f" of the agent {agent}" if agent else ""
    if parts is not None:
        raise ConfigurationError(
            f"every finished noise run{whose} asked only a part; `tracehooks run noise` without "
            f"filters asks all, `tracehooks reference bless {parts.id}` blesses the part"
        )
    raise ConfigurationError(
        f"there is no finished noise run{whose} to bless; `tracehooks run noise` makes one"
    )


def _candidates(store: Store, conditions: Conditions, project: str) -> list[RunRecord]:
    """The finished runs under these conditions since the last blessing, oldest first.

    One whose judge was another than before, by its canaries, is blessed only by its name.
    """
    before = reference_for(store, project=project, agent=conditions.agent, score_name=conditions.score_name)
    found = [
        run
        for run in store.runs.list(JOB, limit=FAR_BACK)
        if run.state == "finished"
        and run.shift is None
        and is_of(project, run.plan)
        and Conditions.of(run.plan) == conditions
        and (before is None or run.started > before.blessed_at)
    ]
    return found[::-1]


def _check_own(runs: Iterable[RunRecord], project: str) -> None:
    for run in runs:
        if not is_of(project, run.plan):
            raise ConfigurationError(
                f"run {run.id} is of the project {run.plan['project']!r}, and the settings' project is "
                f"{project!r}: a reference holds runs of one"
            )


def _check_alike(runs: Sequence[RunRecord]) -> None:
    first = Conditions.of(runs[0].plan)
    for run in runs:
        if run.job != JOB or run.state != "finished":
            raise ConfigurationError(
                f"run {run.id} is no finished noise run (it is a {run.job} run, {run.state}); choose another"
            )
        now = Conditions.of(run.plan)
        found = unlike(first, now, (runs[0].id, run.id))
        if now.agent_version != first.agent_version:
            found.append(f"agent version: {first.agent_version} and {now.agent_version}")
        if found:
            raise ConfigurationError(f"runs {runs[0].id} and {run.id} cannot be pooled: {'; '.join(found)}")


def _check_left_out(left_out: Sequence[str], blessing: Blessing) -> None:
    if left_out and not (blessing.left_out_because or "").strip():
        raise ConfigurationError(
            f"{len(left_out)} comparable runs would be left out ({', '.join(left_out)}), and the best of "
            "several is no reference; name them too, or say why not with --left-out-because"
        )


def _pooled(runs: Sequence[Sequence[ReferenceRow]]) -> list[ReferenceRow]:
    """All rows, the repeats of each variant counted through."""
    counted: dict[tuple[str, str], int] = {}
    found = []
    for one in (row for rows in runs for row in rows):
        key = (one.row.case, one.row.variant)
        found.append(replace(one, row=replace(one.row, repeat=counted.get(key, 0))))
        counted[key] = counted.get(key, 0) + 1
    return found


def _without_score(rows: Sequence[ReferenceRow]) -> int:
    return sum(one.row.applicable and one.row.value is None for one in rows)


def _check_rows(rows: Sequence[ReferenceRow], blessing: Blessing, lacking: Sequence[str]) -> None:
    wanted = [one.row for one in rows if one.row.applicable]
    scored = sum(row.value is not None for row in wanted)
    if scored < MIN_COVERAGE * len(wanted) or not scored:
        raise ConfigurationError(
            f"only {scored} of {len(wanted)} rows have a score, which is no reference; "
            f"the others are of {', '.join(lacking)}: `tracehooks resume RUN` judges them again, "
            "`tracehooks report RUN` says why they have none"
        )
    repeats = fewest_repeats([one.row for one in rows])
    if repeats < REPEATS and not blessing.fewer:
        answers = "1 answer" if repeats == 1 else f"{repeats} answers"
        raise ConfigurationError(
            f"the runs add up to {answers} to each variant, and a reference that can tell needs {REPEATS}; "
            "run the noise job again (jobs.noise.repeats), or accept fewer with --fewer"
        )
