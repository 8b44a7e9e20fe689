"""How often the noise gate gives each verdict, for simulated agents whose fate is known.

    python benchmarks/noise_gate.py [RUNS] [SEED]

40 questions, 3 noise types, 3 repeats against a reference of 9; see ``tracehooks.noise.inference``.
"""

import random
import sys

from tracehooks.noise.inference import LEVEL
from tracehooks.noise.simulation import Design, simulate

DROPS = {"unchanged": 0.0, "one type down 0.05": 0.05, "one type down 0.10": 0.10}
LEVELS = (0.025, LEVEL, 0.10)


def main(runs: int = 10_000, seed: int | None = None) -> None:
    """Print the shares of runs that fail, pass and stay open, at the gate's level and around it."""
    seed = random.SystemRandom().randrange(2**32) if seed is None else seed
    print(f"{runs} runs of each kind, seed {seed}; the gate's level is {LEVEL}")
    print(f"{'level':>6}  {'agent':<20}{'fail':>8}{'pass':>8}{'open':>8}")
    for level in LEVELS:
        for name, drop in DROPS.items():
            rates = simulate(Design(), {"misinformation": drop}, runs=runs, seed=seed, level=level)
            figures = f"{rates.failed:>8.1%}{rates.passed:>8.1%}{rates.inconclusive:>8.1%}"
            print(f"{level:>6}  {name:<20}{figures}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
