"""Where the repository is: probes run from there, so that they find ``benchmarks`` and ``tests``."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
