"""Scripts in a process of their own, for what a process can do once only."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

PREAMBLE = """
import logging, os, sys
import tracehooks
from tracehooks import traced
from opentelemetry import trace as otel
from opentelemetry.sdk.trace import TracerProvider
from tracehooks.testing import MemoryExporter
logging.basicConfig(level=logging.WARNING)
@traced
def agent(question="hi"):
    return question
"""


def run(script: str, cwd: Path, *, code: int = 0, **environment: str) -> str:
    """The output of ``script``, run in ``cwd`` after the preamble; stderr must be empty."""
    done: subprocess.CompletedProcess[Any] = subprocess.run(
        [sys.executable, "-c", PREAMBLE + textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=cwd,
        env={**os.environ, **environment},
    )
    assert done.returncode == code, done.stderr
    assert code or done.stderr == "", done.stderr
    return str(done.stdout)
