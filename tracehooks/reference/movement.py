"""What moved between two sets of rows, variant by variant: the largest loss first."""

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tracehooks.noise.rows import NoiseRow, ScoreKind

_TINY = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A variant's rows on one side: ``scored`` of ``wanted`` have a value, and ``mean`` is theirs."""

    wanted: int = 0
    scored: int = 0
    mean: float | None = None
    reasons: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Movement:
    """One variant before and now. ``lost`` is positive when it got worse, whichever way the score points.

    ``lost`` is None when one side has no score: then the two sides say why.
    """

    case: str
    variant: str
    noise_type: str
    before: Side
    now: Side
    lost: float | None


def movements(before: Iterable[NoiseRow], now: Iterable[NoiseRow], kind: ScoreKind) -> list[Movement]:
    """The variants that moved: losses, what has no score any more, what is new or gone, then gains.

    A variant whose mean stayed the same is left out.
    """
    old, new = _grouped(before), _grouped(now)
    found = [_movement(key, old.get(key, ()), new.get(key, ()), kind) for key in {**old, **new}]
    moved = [one for one in found if one.lost is None or abs(one.lost) > _TINY]
    return sorted((one for one in moved if one.before.scored or one.now.scored), key=_rank)


def _rank(one: Movement) -> tuple[int, float, str, str]:
    if one.lost is None:
        return (1, 0.0, one.case, one.variant)
    return (0 if one.lost > 0 else 2, -abs(one.lost), one.case, one.variant)


Key = tuple[str, str, str]


def _grouped(rows: Iterable[NoiseRow]) -> dict[Key, list[NoiseRow]]:
    found: dict[Key, list[NoiseRow]] = {}
    for row in rows:
        if row.applicable:
            found.setdefault((row.case, row.variant, row.noise_type), []).append(row)
    return found


def _movement(key: Key, before: Sequence[NoiseRow], now: Sequence[NoiseRow], kind: ScoreKind) -> Movement:
    old, new = _side(before), _side(now)
    known = old.mean is not None and new.mean is not None
    case, variant, noise_type = key
    return Movement(
        case=case,
        variant=variant,
        noise_type=noise_type,
        before=old,
        now=new,
        lost=kind.sign * ((old.mean or 0.0) - (new.mean or 0.0)) if known else None,
    )


def _side(rows: Sequence[NoiseRow]) -> Side:
    values = [row.value for row in rows if row.value is not None]
    reasons = Counter(str(row.reason) for row in rows if row.reason is not None)
    return Side(
        wanted=len(rows),
        scored=len(values),
        mean=statistics.fmean(values) if values else None,
        reasons=tuple(sorted(reasons.items())),
    )
