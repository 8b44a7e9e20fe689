"""Pairing a run with its reference: each variant with itself, then one drop for each base question.

Rows without a score are not left out, they are filled in three ways: not at all (``observed``), as if all had
been the worst for the run (its own rows worst, the reference's best), and as if all had been the best.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from tracehooks.noise.inference import Array
from tracehooks.noise.rows import NoiseRow, ScoreKind, by_type
from tracehooks.records import Reason


class Fill(StrEnum):
    """What stands in for rows without a score."""

    OBSERVED = "observed"
    WORST = "worst"
    BEST = "best"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How much answers to the same variant differ, and how that enters a question's drop.

    ``candidate`` and ``reference`` are the parts of the variance of a question's drop that come from repeats;
    twice the repeats halve them. ``repeats`` is how many a variant of the candidate has, on average.
    """

    candidate: float
    reference: float
    repeats: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedType:
    """One noise type, paired: ``drops`` has an entry for each base question and way to fill.

    ``missing`` counts rows without a score on either side, ``unpaired`` variants that one side does not have.
    """

    noise_type: str
    cases: tuple[str, ...]
    drops: dict[Fill, Array]
    variants: int
    missing: int
    unpaired: int
    spread: Spread


def pair(
    candidate: Iterable[NoiseRow], reference: Iterable[NoiseRow], kind: ScoreKind
) -> dict[str, PairedType]:
    """The noise types of the ``candidate``, each paired with the same type of the ``reference``."""
    others = by_type(reference)
    return {
        name: _paired(name, rows, others.get(name, ()), kind) for name, rows in by_type(candidate).items()
    }


def stacked(types: Sequence[PairedType], fill: Fill) -> Array:
    """The drops of all ``types`` as one array (types, questions), NaN where a type has no such question."""
    widest = max((len(one.cases) for one in types), default=0)
    table = np.full((len(types), widest), np.nan)
    for row, one in zip(table, types, strict=True):
        row[: len(one.cases)] = one.drops[fill]
    return table


@dataclass(frozen=True, slots=True)
class _Pair:
    """The values of one variant on both sides, NaN for rows without a score."""

    case: str
    candidate: Array
    reference: Array

    def drop(self, fill: Fill, kind: ScoreKind) -> float:
        """How much the variant lost; NaN when one side has nothing to go by."""
        own = {Fill.WORST: kind.worst, Fill.BEST: kind.best}.get(fill)
        other = {Fill.WORST: kind.best, Fill.BEST: kind.worst}.get(fill)
        return kind.sign * (_mean(self.reference, other) - _mean(self.candidate, own))

    @property
    def missing(self) -> int:
        return int(np.isnan(self.candidate).sum() + np.isnan(self.reference).sum())


def _paired(name: str, rows: Sequence[NoiseRow], others: Sequence[NoiseRow], kind: ScoreKind) -> PairedType:
    own, theirs = _variants(rows), _variants(others)
    pairs = [
        _Pair(key[0], _values(own[key]), _values(theirs[key]))
        for key in sorted(own.keys() & theirs.keys())
        if not (_silent(own[key]) and _silent(theirs[key]))
    ]
    by_case: dict[str, list[_Pair]] = {}
    for one in pairs:
        by_case.setdefault(one.case, []).append(one)
    return PairedType(
        noise_type=name,
        cases=tuple(by_case),
        drops={
            fill: np.array(
                [_mean(np.array([one.drop(fill, kind) for one in group])) for group in by_case.values()]
            )
            for fill in Fill
        },
        variants=len(pairs),
        missing=sum(one.missing for one in pairs),
        unpaired=len(own.keys() ^ theirs.keys()),
        spread=_spread(pairs, by_case),
    )


def _variants(rows: Iterable[NoiseRow]) -> dict[tuple[str, str], list[NoiseRow]]:
    found: dict[tuple[str, str], list[NoiseRow]] = {}
    for row in rows:
        if row.applicable:
            found.setdefault((row.case, row.variant), []).append(row)
    return found


def _silent(rows: Iterable[NoiseRow]) -> bool:
    """Whether nothing was ever said here: where the reference was silent too there is nothing to compare."""
    return all(row.reason is Reason.NO_TEXT for row in rows)


def _values(rows: Iterable[NoiseRow]) -> Array:
    return np.array([np.nan if row.value is None else row.value for row in rows], dtype=float)


def _mean(values: Array, fill: float | None = None) -> float:
    known = np.where(np.isnan(values), np.nan if fill is None else fill, values)
    known = known[~np.isnan(known)]
    return float(known.mean()) if known.size else float("nan")


def _spread(pairs: Sequence[_Pair], by_case: dict[str, list[_Pair]]) -> Spread:
    own, theirs = (_pooled([getattr(one, side) for one in pairs]) for side in ("candidate", "reference"))
    repeats = [int((~np.isnan(one.candidate)).sum()) for one in pairs]
    return Spread(
        candidate=own * _share(by_case, "candidate"),
        reference=theirs * _share(by_case, "reference"),
        repeats=float(np.mean(repeats)) if repeats else 0.0,
    )


def _pooled(groups: Sequence[Array]) -> float:
    """The variance within groups, over all of them; 0 where nothing was repeated."""
    known = [group[~np.isnan(group)] for group in groups]
    df = sum(max(len(group) - 1, 0) for group in known)
    squares = sum(float(((group - group.mean()) ** 2).sum()) for group in known if len(group))
    return squares / df if df else 0.0


def _share(by_case: dict[str, list[_Pair]], side: str) -> float:
    """What a question's drop takes over of the variance within: mean of sum(1 / repeats) / variants²."""
    shares = []
    for group in by_case.values():
        counts = [int((~np.isnan(getattr(one, side))).sum()) for one in group]
        shares.append(sum(1 / n for n in counts if n) / len(counts) ** 2)
    return float(np.mean(shares)) if shares else 0.0
