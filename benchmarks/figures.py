"""What was measured: medians and spreads of paired ratios, and rows that are shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles


@dataclass(frozen=True, slots=True)
class Ratio:
    """The middle of paired ratios, and where the middle 80 % of them are."""

    median: float
    low: float
    high: float
    rounds: int


@dataclass(frozen=True, slots=True)
class Row:
    """One thing measured. ``ours`` and ``theirs`` are medians in the table's unit.

    ``reach`` is what the ratio should be at most; None where nothing was set. ``skipped`` says why there are
    no figures.
    """

    name: str
    ours: float | None = None
    theirs: float | None = None
    ratio: Ratio | None = None
    reach: float | None = None
    skipped: str | None = None

    @property
    def is_met(self) -> bool | None:
        """Whether the reach is met; None where there is none, or no figure."""
        if self.reach is None or self.ratio is None:
            return None
        return round(self.ratio.median, 2) <= self.reach


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under one heading, with the names of what they compare, and the unit of both."""

    name: str
    title: str
    ours: str
    theirs: str
    unit: str
    rows: tuple[Row, ...]


def ratio_of(ratios: Sequence[float]) -> Ratio:
    """Raises ValueError when there are none."""
    if not ratios:
        raise ValueError("no rounds were measured")
    tenths = quantiles(ratios, n=10) if len(ratios) > 1 else [ratios[0]] * 9
    return Ratio(median(ratios), tenths[0], tenths[-1], len(ratios))


def compared(
    name: str, ours: Sequence[float], theirs: Sequence[float], *, scale: float, reach: float | None = None
) -> Row:
    """A row of what was measured in pairs, each figure in seconds, shown multiplied by ``scale``."""
    ratio = ratio_of([one / other for one, other in zip(ours, theirs, strict=True)])
    return Row(name, median(ours) * scale, median(theirs) * scale, ratio, reach)
