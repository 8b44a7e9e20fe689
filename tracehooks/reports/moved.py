"""What moved: single answers that got worse or better, and calls that stand out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tracehooks.noise.rows import NoiseRow, ScoreKind, bound_of
from tracehooks.reference import Reference, ReferenceRow
from tracehooks.reference.movement import Movement, movements
from tracehooks.replay.rows import ReplayAnswer
from tracehooks.settings import NoiseGate
from tracehooks.store import RunRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """One variant that moved, or call that stands out: its scores and what was said, before and now.

    ``lost`` is positive when it got worse, None when one side has no score. Texts are whole, and nobody
    vouches for them.
    """

    case: str
    variant: str
    noise_type: str
    before: float | None = None
    now: float | None = None
    lost: float | None = None
    counts: str = ""
    answer_before: str | None = None
    answer_now: str | None = None
    why: str = ""
    trace_id: str | None = None


def worst_calls(run: RunRecord) -> list[Moved]:
    """The worst calls of a toxicity run."""
    return [
        Moved(
            case=str(entry.get("trace_id")),
            variant="",
            noise_type=str(entry.get("band") or ""),
            now=entry.get("value"),
            why=str(entry.get("comment") or ""),
            trace_id=entry.get("trace_id"),
        )
        for entry in run.report.get("worst") or []
    ]


def moved_since(
    found: Sequence[ReplayAnswer], reference: Reference | None, kind: ScoreKind, gate: NoiseGate
) -> list[Moved]:
    """What moved since the reference; without one the variants that are below their minimum."""
    now = [one.row for one in found]
    before = () if reference is None else reference.noise_rows
    chosen = movements(before, now, kind) if reference else _below(now, kind, gate.min_score)
    by_variant = _worst_by(((one.row, one) for one in found), kind)
    old = _worst_by(((one.row, one) for one in reference.rows), kind) if reference else {}
    return [_told(one, by_variant.get(_key(one)), old.get(_key(one))) for one in chosen]


def _below(rows: Sequence[NoiseRow], kind: ScoreKind, min_score: float) -> list[Movement]:
    bounds = {(row.case, row.variant): bound_of(row, min_score) for row in rows}
    found = [one for one in movements((), rows, kind) if one.now.mean is not None]
    low = [one for one in found if not kind.reaches(one.now.mean or 0.0, bounds[_key(one)])]
    return sorted(low, key=lambda one: (kind.sign * (one.now.mean or 0.0), one.case, one.variant))


def _key(one: Any) -> tuple[str, str]:
    return (one.case, one.variant)


def _worst_by(rows: Iterable[tuple[NoiseRow, Any]], kind: ScoreKind) -> dict[tuple[str, str], Any]:
    """The answer with the worst score of each variant; of those without a score the first."""
    found: dict[tuple[str, str], tuple[float, Any]] = {}
    for row, one in rows:
        worth = float("inf") if row.value is None else kind.sign * row.value
        if _key(row) not in found or worth < found[_key(row)][0]:
            found[_key(row)] = (worth, one)
    return {key: one for key, (_, one) in found.items()}


def _told(one: Movement, now: ReplayAnswer | None, before: ReferenceRow | None) -> Moved:
    score = now.score if now else None
    why = (now.why or (score.comment if score else "")) if now else "not in this run"
    return Moved(
        case=one.case,
        variant=one.variant,
        noise_type=one.noise_type,
        before=one.before.mean,
        now=one.now.mean,
        lost=one.lost,
        counts=f"{one.now.scored} of {one.now.wanted} scored",
        answer_before=before.answer if before else None,
        answer_now=now.text if now else None,
        why=why,
        trace_id=now.replay.trace_id if now else None,
    )
