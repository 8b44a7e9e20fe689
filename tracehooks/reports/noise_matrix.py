"""A noise run as a matrix: one row a case, one column a noise type, each cell the mean of what was scored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracehooks.replay.rows import ReplayAnswer


@dataclass(frozen=True, slots=True)
class Cell:
    """The answers of one case to one noise type: ``mean`` over ``scored`` of ``wanted``; None without any."""

    mean: float | None
    scored: int
    wanted: int

    @property
    def partial(self) -> bool:
        """Whether the mean leaves wanted rows out."""
        return self.scored < self.wanted


@dataclass(frozen=True, slots=True)
class Matrix:
    """Cases and noise types in order, and the cells that hold anything. ``higher`` says that 1 is best."""

    cases: tuple[str, ...]
    types: tuple[str, ...]
    cells: Mapping[tuple[str, str], Cell]
    higher: bool = True

    def worth(self, cell: Cell) -> float | None:
        """The cell's mean as a share of the best, for its colour."""
        return cell.mean if cell.mean is None or self.higher else 1.0 - cell.mean


def matrix(answers: Sequence[ReplayAnswer], direction: str = "higher") -> Matrix:
    """The matrix of a run's ``answers``: the cases that lost most come first."""
    groups: dict[tuple[str, str], list[ReplayAnswer]] = {}
    for answer in answers:
        groups.setdefault((answer.row.case, answer.row.noise_type), []).append(answer)
    cells = {key: _cell(group) for key, group in groups.items()}
    higher = direction == "higher"
    cases = sorted({case for case, _ in cells}, key=lambda case: _rank(case, cells, higher=higher))
    return Matrix(tuple(cases), tuple(sorted({kind for _, kind in cells})), cells, higher)


def _cell(group: Sequence[ReplayAnswer]) -> Cell:
    values = [answer.row.value for answer in group if answer.row.value is not None]
    wanted = sum(answer.row.applicable for answer in group)
    return Cell(sum(values) / len(values) if values else None, len(values), wanted)


def _rank(case: str, cells: Mapping[tuple[str, str], Cell], *, higher: bool) -> tuple[float, str]:
    means = [cell.mean for (name, _), cell in cells.items() if name == case and cell.mean is not None]
    worst = (min(means) if higher else -max(means)) if means else float("inf")
    return worst, case
