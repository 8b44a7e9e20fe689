"""How often the noise gate gives each verdict, for simulated agents whose fate is known.

40 questions, 3 noise types, 3 repeats against a reference of 9; see ``tracehooks.noise.inference``.
"""

import random
from collections.abc import Callable

from benchmarks.effort import Effort
from benchmarks.figures import Row, Table
from tracehooks.noise.inference import LEVEL
from tracehooks.noise.simulation import Design, simulate

DROPS = {"nothing changed": 0.0, "one type down 0.05": 0.05, "one type down 0.10": 0.10}
LEVELS = (LEVEL, 0.025, 0.10)
ASKED = {
    ("nothing changed", "failed"): 5.0,
    ("nothing changed", "passed"): 90.0,
    ("one type down 0.05", "passed"): 15.0,
    ("one type down 0.10", "failed"): 99.0,
}
"""Shares in per cent: of fails of an unchanged agent and of passes of a worse one at most, else at least."""


def measure(effort: Effort, tell: Callable[[str], None], seed: int | None = None) -> Table:
    """The shares of runs that fail, pass and stay open, at the gate's level and around it."""
    seed = random.SystemRandom().randrange(2**32) if seed is None else seed
    tell(f"noise: simulated runs, seed {seed}")
    rows = []
    for level in LEVELS:
        for name, drop in DROPS.items():
            drops = {"misinformation": drop}
            rates = simulate(Design(), drops, runs=effort.noise_runs, seed=seed, level=level)
            for outcome in ("failed", "passed", "inconclusive"):
                asked = ASKED.get((name, outcome)) if level == LEVEL else None
                share = 100 * getattr(rates, outcome)
                rows.append(Row(f"level {level:g}, {name}: {outcome}", share, asked))
    title = f"The noise gate: {effort.noise_runs} simulated runs of each kind, seed {seed}, level {LEVEL:g}"
    return Table("noise", title, "runs", "asked", "%", tuple(rows))
