"""CPU of imports, each in a fresh process, in turns with ``import opentelemetry.sdk.trace``."""

import subprocess
import sys
from collections.abc import Callable

from benchmarks.effort import Effort
from benchmarks.figures import Table, compared
from benchmarks.root import ROOT

MILLISECONDS = 1e3
SDK = "import opentelemetry.sdk.trace"
REACH = 1.0

STATEMENTS = {
    "import tracehooks": REACH,
    "from tracehooks import traced": REACH,
    "from tracehooks import traced, ScoringHook, trace_attributes, attach_score": None,
    "import tracehooks; tracehooks.init({'store': ''})": None,
}

_TIMED = """
import sys, time
before = time.process_time()
{}
after = time.process_time()
print(after - before)
"""


def measure(effort: Effort, tell: Callable[[str], None]) -> Table:
    """The start of the interpreter is not counted; bytecode is cached beforehand."""
    seconds: dict[str, list[float]] = {statement: [] for statement in (SDK, *STATEMENTS)}
    for number in range(effort.imports + 1):
        tell(f"imports, round {number + 1} of {effort.imports + 1}")
        order = list(seconds) if number % 2 == 0 else list(reversed(seconds))
        for statement in order:
            taken = cpu_of(statement)
            if number:  # the first time writes bytecode and fills the file cache
                seconds[statement].append(taken)
    rows = tuple(
        compared(statement, seconds[statement], seconds[SDK], scale=MILLISECONDS, reach=reach)
        for statement, reach in STATEMENTS.items()
    )
    return Table("imports", f"CPU of an import, over {SDK}", "import", "the SDK's", "ms", rows)


def cpu_of(statement: str) -> float:
    """CPU seconds that a statement takes in a fresh interpreter."""
    command = [sys.executable, "-c", _TIMED.format(statement)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise RuntimeError(f"{statement} failed: {done.stderr.strip().splitlines()[-1]}")
    return float(done.stdout)
