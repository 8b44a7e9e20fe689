"""Set up an environment for each framework: ``python tests/instrumentations/environments.py [NAME ...]``.

They live outside the repository, in $TRACEHOOKS_INSTRUMENTATIONS or ~/.cache/tracehooks/instrumentations, and
take about 2 GB together, half of it CrewAI's. An environment whose requirements have not changed is kept. One
that cannot be set up is reported and left out; its test skips.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

REQUIREMENTS = Path(__file__).parent / "requirements"


def folder() -> Path:
    """Where the environments are."""
    chosen = os.environ.get("TRACEHOOKS_INSTRUMENTATIONS")
    return Path(chosen) if chosen else Path.home() / ".cache" / "tracehooks" / "instrumentations"


def names() -> list[str]:
    """The frameworks that there are requirements for."""
    return sorted(path.stem for path in REQUIREMENTS.glob("*.txt"))


def python_of(name: str) -> Path:
    """The environment's interpreter, there or not."""
    return folder() / name / "bin" / "python"


def is_ready(name: str) -> bool:
    """Whether the environment is there, whole, and made from today's requirements."""
    return _mark(name).is_file() and _mark(name).read_text() == _fingerprint(name)


def set_up(name: str) -> None:
    """Make the environment anew. Raises CalledProcessError when its packages cannot be installed."""
    shutil.rmtree(folder() / name, ignore_errors=True)
    subprocess.run([*_uv(), "venv", "--quiet", "--python", sys.executable, str(folder() / name)], check=True)
    requirements = str(REQUIREMENTS / f"{name}.txt")
    install = [*_uv(), "pip", "install", "--quiet", "--python", str(python_of(name)), "-r", requirements]
    subprocess.run(install, check=True)
    _mark(name).write_text(_fingerprint(name))


def _mark(name: str) -> Path:
    return folder() / name / "tracehooks-ready"


def _fingerprint(name: str) -> str:
    return hashlib.sha256((REQUIREMENTS / f"{name}.txt").read_bytes()).hexdigest()


def _uv() -> list[str]:
    """uv, which installs these many packages in seconds; from an environment of its own if need be."""
    if found := shutil.which("uv"):
        return [found]
    own = folder() / "uv"
    if not (own / "bin" / "uv").exists():
        subprocess.run([sys.executable, "-m", "venv", str(own)], check=True)
        subprocess.run([str(own / "bin" / "python"), "-m", "pip", "install", "--quiet", "uv"], check=True)
    return [str(own / "bin" / "uv")]


def main(wanted: list[str]) -> int:
    """Set up what is wanted, all by default; the exit code is the number of those that failed."""
    failed = 0
    for name in wanted or names():
        if is_ready(name):
            print(f"{name}: ready")
            continue
        try:
            set_up(name)
            print(f"{name}: set up")
        except subprocess.CalledProcessError as error:
            failed += 1
            print(f"{name}: not set up, {error}", file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
