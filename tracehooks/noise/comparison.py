"""The comparison with the reference: for each noise type whether it held, dropped, or cannot be told."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracehooks.noise.inference import CODES, Inference, infer
from tracehooks.noise.pairing import Fill, PairedType, pair, stacked
from tracehooks.noise.remedies import Remedy, remedy_for
from tracehooks.noise.rows import NoiseRow, ScoreKind
from tracehooks.records import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One noise type against its reference.

    ``drop`` is how much the run lost, the mean over ``questions`` base questions, positive when it is worse
    whichever way the score points; ``low`` and ``high`` are its one-sided 95 % bounds, None when there are
    fewer than two questions; ``p`` and ``adjusted`` (Holm over the types) are for "there is a drop".
    ``detectable`` is the smallest drop it could have seen. ``verdict`` holds whatever the ``missing`` rows
    would have been; ``if_worst`` and ``if_best`` are what it were if they had all been worst or best.
    """

    noise_type: str
    questions: int
    variants: int
    missing: int
    unpaired: int
    drop: float | None
    low: float | None
    high: float | None
    p: float
    adjusted: float
    detectable: float | None
    remedy: Remedy
    observed: Verdict
    if_worst: Verdict
    if_best: Verdict
    moved: tuple[tuple[str, float], ...]

    @property
    def verdict(self) -> Verdict:
        """Fails if it does with every missing row at its best, passes if it does with all at their worst."""
        if self.if_best is Verdict.FAIL:
            return Verdict.FAIL
        return Verdict.PASS if self.if_worst is Verdict.PASS else Verdict.INCONCLUSIVE

    @property
    def hangs(self) -> bool:
        """Whether the rows seen would decide, and the missing ones leave it open."""
        return self.verdict is Verdict.INCONCLUSIVE and self.observed is not Verdict.INCONCLUSIVE


def compare(
    candidate: Sequence[NoiseRow],
    reference: Sequence[NoiseRow],
    kind: ScoreKind,
    *,
    margin: float,
) -> dict[str, Comparison]:
    """Each noise type of the ``candidate`` against the ``reference``; ``margin`` is what it may lose.

    The statistics are described in ``inference.py``, the pairing in ``pairing.py``.
    """
    paired = pair(candidate, reference, kind)
    types = list(paired.values())
    if not types:
        return {}
    found = {fill: infer(stacked(types, fill), margin) for fill in _known_fills(types, kind)}
    return {
        one.noise_type: _comparison(one, index, found, margin, len(types)) for index, one in enumerate(types)
    }


def _known_fills(types: Sequence[PairedType], kind: ScoreKind) -> tuple[Fill, ...]:
    """A score without a range has no worst value, so nothing is known of missing rows."""
    if kind.range is None and any(one.missing for one in types):
        return (Fill.OBSERVED,)
    return tuple(Fill)


def _comparison(
    one: PairedType, index: int, found: dict[Fill, Inference], margin: float, types: int
) -> Comparison:
    seen = found[Fill.OBSERVED]
    verdicts = {fill: CODES[int(inference.codes[index])] for fill, inference in found.items()}
    unknown = Verdict.INCONCLUSIVE if one.missing else verdicts[Fill.OBSERVED]
    questions = int(seen.questions[index])
    deviation = float(seen.error[index]) * questions**0.5
    drop = float(seen.drop[index])
    return Comparison(
        noise_type=one.noise_type,
        questions=questions,
        variants=one.variants,
        missing=one.missing,
        unpaired=one.unpaired,
        drop=_finite(drop),
        low=_finite(seen.low[index]),
        high=_finite(seen.high[index]),
        p=float(seen.p[index]),
        adjusted=float(seen.adjusted[index]),
        detectable=_finite(seen.detectable[index]),
        remedy=remedy_for(drop, deviation, questions, margin=margin, types=types, spread=one.spread),
        observed=verdicts[Fill.OBSERVED],
        if_worst=verdicts.get(Fill.WORST, unknown),
        if_best=verdicts.get(Fill.BEST, unknown),
        moved=_moved(one),
    )


def _moved(one: PairedType) -> tuple[tuple[str, float], ...]:
    """The base questions whose answers got worse or better, largest loss first."""
    drops = zip(one.cases, one.drops[Fill.OBSERVED].tolist(), strict=True)
    known = [(case, drop) for case, drop in drops if not np.isnan(drop) and abs(drop) > 1e-9]
    return tuple(sorted(known, key=lambda item: (-item[1], item[0])))


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
