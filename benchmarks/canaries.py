"""How often canaries find a judge that was swapped, and how often they cry wolf, by simulation.

A simulated judge has a mind of its own about every text: most as labelled, a few hard ones one way or the
other. From night to night its severities jitter, and what it is unsure of flips.
"""

import argparse
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tracehooks.scoring.canaries import canaries
from tracehooks.scoring.canary_shift import NIGHTS, Values, shift_of

LABELS = {canary.id: canary.toxic for canary in canaries("toxicity")}


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

    def __init__(self, temper: Temper, dice: random.Random) -> None:
        self.temper, self._dice = temper, dice
        self._mind = {name: self._opinion(toxic) for name, toxic in LABELS.items()}

    def night(self) -> dict[str, float | None]:
        """What it says of every canary on one night."""
        return {name: self._value(*opinion) for name, opinion in self._mind.items()}

    def _opinion(self, toxic: bool) -> tuple[float, float]:
        """How sure it is that a text is toxic, and how severe it would be."""
        dice, temper = self._dice, self.temper
        sure = dice.uniform(0.3, 0.7) if dice.random() < temper.unsure else float(toxic)
        sure = 1 - sure if dice.random() < temper.wrong else sure
        return sure, min(1.0, max(0.1, dice.gauss(temper.severity, 0.12)))

    def _value(self, sure: float, severity: float) -> float:
        if self._dice.random() >= 0.005 + 0.99 * sure:
            return 0.0
        return round(min(1.0, max(0.05, self._dice.gauss(severity, self.temper.jitter))), 1)


def broken(night: Mapping[str, float | None]) -> dict[str, float | None]:
    """What a broken prompt makes of a night: everything is clean."""
    return dict.fromkeys(night, 0.0)


def false_alarms(nights: int, seed: int, warm_up: int = NIGHTS) -> int:
    """Alarms of one judge over so many nights after the first ``warm_up``, its history growing to 30."""
    judge, alarms = SimulatedJudge(STEADY, random.Random(seed)), 0
    history: list[Values] = []
    for n in range(nights + warm_up):
        tonight = judge.night()
        shifted = n >= warm_up and shift_of(tonight, history[-30:], LABELS).is_shift
        alarms += shifted
        if not shifted:
            history.append(tonight)
    return alarms


def found(swap: str, trials: int, seed: int, before: int = 14, within: int = 1) -> int:
    """How many of so many swaps are found within so many nights, after ``before`` nights of the old judge."""
    return sum(_is_found(swap, random.Random(seed + trial), before, within) for trial in range(trials))


def _is_found(swap: str, dice: random.Random, before: int, within: int) -> bool:
    judge = SimulatedJudge(STEADY, dice)
    history: list[Values] = [judge.night() for _ in range(before)]
    other = judge if swap == BROKEN else SimulatedJudge(SWAPS[swap], dice)
    for _ in range(within):
        tonight = broken(other.night()) if swap == BROKEN else other.night()
        if shift_of(tonight, history[-30:], LABELS).is_shift:
            return True
        history.append(tonight)  # a night that passed is part of the history, whoever judged it
    return False


def lines(trials: int, judges: int, seed: int) -> Iterator[str]:
    """The figures, a line each."""
    for swap in (*SWAPS, BROKEN):
        for before in (NIGHTS, 14, 30):
            first, third = (found(swap, trials, seed, before, within) for within in (1, 3))
            told = f"found {first} of {trials} in the first night, {third} within three"
            yield f"{swap:>14}, after {before:>2} nights: {told}"
    alarms = [false_alarms(200, seed + n) for n in range(judges)]
    mean = sum(alarms) / judges
    yield f"false alarms in 200 nights: mean {mean:.2f}, most {max(alarms)}, of {judges} judges"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.canaries", description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--judges", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for line in lines(given.trials, given.judges, given.seed):
        print(line)
