"""A folder as a user has one: settings, a filled store, a judge on loopback; and the command line in it."""

import json
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import termios
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.stored import fill
from tracehooks.store import Store, open_store

SETTINGS = """
project: shop
store: sqlite:///{folder}/store.db
judge: {{model: judge-2026, base_url: "{url}", api_key: key-TEST-123, timeout: 5s, attempts: 1}}
jobs: {{toxicity: {{settle: 0s, window: all, {job}}}}}
"""
# the command line goes by the real clock: what was traced lies behind it, whatever it says
YESTERDAY = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(days=1)
NOWHERE = "http://127.0.0.1:9/v1"
BYTE_CODE = str(Path(tempfile.gettempdir()) / "tracehooks-tests-byte-code")
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Shop:
    """One user's folder."""

    folder: Path

    @classmethod
    def at(
        cls, folder: Path, outputs: Sequence[str | None] = (), *, url: str = NOWHERE, job: str = ""
    ) -> "Shop":
        """A folder with settings, and a store in which these outputs were traced."""
        text = SETTINGS.format(folder=folder, url=url, job=job)
        (folder / "tracehooks.yaml").write_text(text, encoding="utf-8")
        shop = cls(folder)
        if outputs:
            with shop.store() as store:
                fill(store, outputs, start=YESTERDAY)
        return shop

    def store(self) -> Store:
        """The store, opened by the test itself."""
        return open_store(f"sqlite:///{self.folder}/store.db")

    def tracehooks(self, *args: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run the command line to its end, its output in pipes."""
        return subprocess.run(
            command(*args),
            cwd=self.folder,
            env=environment(**environ),
            capture_output=True,
            text=True,
            timeout=90,
        )

    def document(self, *args: str) -> Any:
        """What ``--json`` prints: exactly one valid document, without NaN."""
        return strict_json(self.tracehooks(*args, "--json").stdout)

    def start(self, *args: str, **more: Any) -> subprocess.Popen[str]:
        """Begin, and leave it running."""
        pipe = subprocess.PIPE
        options = {"stdout": pipe, "stderr": pipe, **more}
        return subprocess.Popen(command(*args), cwd=self.folder, env=environment(), text=True, **options)

    def terminal(self, *args: str, columns: int = 80, **environ: str) -> tuple[int, str]:
        """Run in a real terminal so many columns wide; the exit code, and all that was written to it."""
        ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (50, columns))
        process = subprocess.Popen(
            command(*args),
            cwd=self.folder,
            env=environment(TERM="xterm-256color", **environ),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        written = b""
        while select.select([ours], [], [], 60)[0]:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other side is closed
                break
            if not piece:
                break
            written += piece
        os.close(ours)
        return process.wait(30), written.decode("utf-8", "replace")


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "tracehooks", *args]


def environment(**more: str) -> dict[str, str]:
    """The environment, without what the tests' own surroundings say about colours, width and settings."""
    dropped = ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "CI")
    ours = ("TRACEHOOKS_", "OPENAI_", "LANGFUSE_", "OTEL_")
    kept = {
        name: value for name, value in os.environ.items() if name not in dropped and not name.startswith(ours)
    }
    # where no byte code is kept, each process would compile everything anew
    return {**kept, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": BYTE_CODE, **more}


def strict_json(text: str) -> Any:
    """The one JSON document in ``text``; fails for NaN, and for anything before or behind it."""

    def refuse(token: str) -> None:
        raise AssertionError(f"{token} is not JSON")

    return json.loads(text, parse_constant=refuse)


@dataclass(frozen=True)
class Outcome:
    """What one call of the command line did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on standard output."""
        return strict_json(self.out)


Inside = Callable[..., Outcome]
