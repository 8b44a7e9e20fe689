"""How much is measured: a real run, a brief one, or a quick one that shows that everything works."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Effort:
    """Sizes of every benchmark."""

    processes: int  # fresh ones for each subject: hash seeds and memory layouts differ
    rounds: int  # in each process
    turn_seconds: float  # CPU of the reference in one turn
    imports: int  # fresh processes for each import
    judged: int  # items in one turn
    judge_rounds: int
    spans: int  # in the store that is filled and read
    spans_rounds: int
    noise_runs: int  # simulated ones of each kind
    swaps: int  # simulated ones of each kind, of a judge whose canaries are compared
    steady_judges: int  # simulated ones that are never swapped
    delivered: int  # scores in one turn
    listed: int  # calls of a server
    night_calls: int  # in the store of the night
    night_judged: int
    viewed: int  # traces in the store that the viewer shows


FULL = Effort(
    processes=3,
    rounds=8,
    turn_seconds=0.02,
    imports=25,
    judged=400,
    judge_rounds=12,
    spans=20_000,
    spans_rounds=5,
    noise_runs=10_000,
    swaps=200,
    steady_judges=20,
    delivered=10_000,
    listed=100_000,
    night_calls=100_000,
    night_judged=5_000,
    viewed=100_000,
)
BRIEF = replace(
    FULL,
    processes=2,
    rounds=5,
    imports=9,
    judge_rounds=4,
    spans_rounds=3,
    noise_runs=2_000,
    swaps=100,
    steady_judges=10,
    delivered=2_000,
)
QUICK = Effort(
    processes=1,
    rounds=2,
    turn_seconds=0.002,
    imports=2,
    judged=20,
    judge_rounds=2,
    spans=500,
    spans_rounds=1,
    noise_runs=100,
    swaps=5,
    steady_judges=1,
    delivered=300,
    listed=3_000,
    night_calls=300,
    night_judged=30,
    viewed=600,
)
