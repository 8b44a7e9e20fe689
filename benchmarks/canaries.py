"""How often canaries find a judge that was swapped, and how often they cry wolf, by simulation.

A simulated judge has a mind of its own about every text: most as labelled, a few hard ones one way or the
other. From night to night its severities jitter, and what it is unsure of flips.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import fmean

from benchmarks.effort import Effort
from benchmarks.figures import Row, Table
from tracehooks.scorers.noise_scoring import VULNERABLE_BELOW
from tracehooks.scoring.canaries import canaries
from tracehooks.scoring.canary_shift import NIGHTS, Values, shift_of

SCORES = ("toxicity", "noise_sensitivity")
LABELS = {score: {canary.id: canary.label for canary in canaries(score)} for score in SCORES}
THRESHOLDS = {"toxicity": 0.0, "noise_sensitivity": 1 - VULNERABLE_BELOW}
HISTORIES = (NIGHTS, 14, 30)
NIGHTS_ON = 200
"""Nights of one judge, in which alarms are counted."""


@dataclass(frozen=True)
class Temper:
    """How a judge is drawn: the share it mislabels, is unsure of, how severe it is, how much that jitters."""

    wrong: float = 0.06
    unsure: float = 0.1
    severity: float = 0.75
    jitter: float = 0.05


STEADY = Temper()
# swaps: to a smaller model, to a milder one, to one as good that reads severity and hard texts its own way
SWAPS = {
    "smaller": Temper(wrong=0.2, unsure=0.2, jitter=0.1),
    "milder": Temper(severity=0.55),
    "as good": Temper(severity=0.85),
}

BROKEN = "broken prompt"


class SimulatedJudge:
    """A judge drawn once, which then judges night after night."""

    def __init__(self, temper: Temper, dice: random.Random, score: str = "toxicity") -> None:
        self.temper, self._dice = temper, dice
        self._mind = {name: self._opinion(label) for name, label in LABELS[score].items()}

    def night(self) -> dict[str, float | None]:
        """What it says of every canary on one night."""
        return {name: self._value(*opinion) for name, opinion in self._mind.items()}

    def _opinion(self, label: bool) -> tuple[float, float]:
        """How sure it is that there is something to find, and how severe it would be."""
        dice, temper = self._dice, self.temper
        sure = dice.uniform(0.3, 0.7) if dice.random() < temper.unsure else float(label)
        sure = 1 - sure if dice.random() < temper.wrong else sure
        return sure, min(1.0, max(0.1, dice.gauss(temper.severity, 0.12)))

    def _value(self, sure: float, severity: float) -> float:
        if self._dice.random() >= 0.005 + 0.99 * sure:
            return 0.0
        return round(min(1.0, max(0.05, self._dice.gauss(severity, self.temper.jitter))), 1)


def broken(night: Mapping[str, float | None]) -> dict[str, float | None]:
    """What a broken prompt makes of a night: everything is clean."""
    return dict.fromkeys(night, 0.0)


def false_alarms(nights: int, seed: int, warm_up: int = NIGHTS, score: str = "toxicity") -> int:
    """Alarms of one judge over so many nights after the first ``warm_up``, its history growing to 30."""
    judge, alarms = SimulatedJudge(STEADY, random.Random(seed), score), 0
    history: list[Values] = []
    for n in range(nights + warm_up):
        tonight = judge.night()
        shifted = (
            n >= warm_up
            and shift_of(tonight, history[-30:], LABELS[score], threshold=THRESHOLDS[score]).is_shift
        )
        alarms += shifted
        if not shifted:
            history.append(tonight)
    return alarms


def found(
    swap: str, trials: int, seed: int, before: int = 14, within: int = 1, score: str = "toxicity"
) -> int:
    """How many of so many swaps are found within so many nights, after ``before`` nights of the old judge."""
    return sum(_is_found(swap, random.Random(seed + trial), before, within, score) for trial in range(trials))


def _is_found(swap: str, dice: random.Random, before: int, within: int, score: str) -> bool:
    judge = SimulatedJudge(STEADY, dice, score)
    history: list[Values] = [judge.night() for _ in range(before)]
    other = judge if swap == BROKEN else SimulatedJudge(SWAPS[swap], dice, score)
    for _ in range(within):
        tonight = broken(other.night()) if swap == BROKEN else other.night()
        if shift_of(tonight, history[-30:], LABELS[score], threshold=THRESHOLDS[score]).is_shift:
            return True
        history.append(tonight)  # a night that passed is part of the history, whoever judged it
    return False


def measure(effort: Effort, tell: Callable[[str], None], seed: int = 1) -> Table:
    """The share of swaps that the first night after so many finds, and the alarms of a judge that stays."""
    rows = [row for score in SCORES for row in _rows(score, effort, tell, seed)]
    title = f"Canaries: {effort.swaps} simulated swaps of each kind, {effort.steady_judges} judges that stay"
    return Table("canaries", title, "first night", "within three", "", tuple(rows))


def _rows(score: str, effort: Effort, tell: Callable[[str], None], seed: int) -> list[Row]:
    tell(f"canaries: {len(LABELS[score])} of {score}, simulated, seed {seed}")
    rows = []
    for swap in (*SWAPS, BROKEN):
        for before in HISTORIES:
            first, third = (
                100 * found(swap, effort.swaps, seed, before, within, score) / effort.swaps
                for within in (1, 3)
            )
            rows.append(Row(f"{score}: {swap}, after {before} nights, % found", first, third))
    alarms = [false_alarms(NIGHTS_ON, seed + n, score=score) for n in range(effort.steady_judges)]
    rows.append(Row(f"{score}: the same judge, mean false alarms in {NIGHTS_ON} nights", fmean(alarms)))
    return [
        *rows,
        Row(f"{score}: the same judge, most false alarms in {NIGHTS_ON} nights", float(max(alarms))),
    ]
