"""The peak of a process's memory."""

import resource
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")
PEAK = "VmHWM:"  # kilobytes
KILOBYTES = 1 if sys.platform == "darwin" else 1024  # what ru_maxrss counts in


def peak_megabytes() -> float:
    """Of this process alone: what Linux tells by getrusage may be the peak of whoever started it."""
    if STATUS.exists():
        (line,) = [line for line in STATUS.read_text().splitlines() if line.startswith(PEAK)]
        return int(line.split()[1]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KILOBYTES / 1e6
