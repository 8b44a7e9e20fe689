"""An environment of its own for each product that is compared with, made once, outside the repository.

They live in $TRACEHOOKS_BENCHMARKS, or in tracehooks/benchmarks in the user's cache folder.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

REQUIREMENTS = Path(__file__).parent / "requirements"
PEERS = tuple(sorted(path.stem for path in REQUIREMENTS.glob("*.txt")))
INSTALL_SECONDS = 600


class NotInstalledError(Exception):
    """The product's packages could not be installed; the message is the last thing that pip said."""


def folder() -> Path:
    """Where the environments are."""
    if chosen := os.environ.get("TRACEHOOKS_BENCHMARKS"):
        return Path(chosen)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "tracehooks" / "benchmarks"


def python_of(peer: str) -> Path:
    """The interpreter of the environment of ``peer``, which is made when it is not there.

    Raises NotInstalledError when that does not work, as without a network.
    """
    home = folder() / peer
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    mark = home / "made-from"
    wanted = _fingerprint(peer)
    if not (mark.is_file() and mark.read_text() == wanted):
        _make(home, python, REQUIREMENTS / f"{peer}.txt")
        mark.write_text(wanted)
    return python


def versions(peer: str) -> str:
    """The pinned version of the product itself, the first of its requirements."""
    return (REQUIREMENTS / f"{peer}.txt").read_text().splitlines()[0].replace("==", " ")


def _make(home: Path, python: Path, requirements: Path) -> None:
    shutil.rmtree(home, ignore_errors=True)
    try:
        venv.create(home, with_pip=True)
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run(
            [*command, "-r", str(requirements)], capture_output=True, text=True, timeout=INSTALL_SECONDS
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise NotInstalledError(str(error)) from error
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise NotInstalledError(said[-1] if said else f"pip ended with {done.returncode}")


def _fingerprint(peer: str) -> str:
    """Changes with the requirements and with the Python that runs."""
    requirements = (REQUIREMENTS / f"{peer}.txt").read_bytes()
    return hashlib.sha256(requirements + sys.version.encode()).hexdigest()
