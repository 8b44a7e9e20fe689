"""Each variant by itself: the mean and the spread over its repeats, so that no repeat hides another."""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from tracehooks.noise.rows import NoiseRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One variant over its repeats, of which ``scored`` have a score and ``planned`` were to be.

    ``mean`` is None when none is scored, ``spread`` (the standard deviation) when fewer than two are.
    """

    case: str
    variant: str
    noise_type: str
    planned: int
    scored: int
    mean: float | None
    spread: float | None


def items(rows: Iterable[NoiseRow]) -> list[Item]:
    """The variants of ``rows``, in the order in which they come first."""
    groups: dict[tuple[str, str, str], list[NoiseRow]] = {}
    for row in rows:
        groups.setdefault((row.case, row.variant, row.noise_type), []).append(row)
    return [_item(key, group) for key, group in groups.items()]


def _item(key: tuple[str, str, str], rows: list[NoiseRow]) -> Item:
    values = [row.value for row in rows if row.value is not None]
    return Item(
        case=key[0],
        variant=key[1],
        noise_type=key[2],
        planned=len(rows),
        scored=len(values),
        mean=statistics.fmean(values) if values else None,
        spread=statistics.stdev(values) if len(values) > 1 else None,
    )
