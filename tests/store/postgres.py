"""A Postgres server of the tests' own, on a socket in a folder of its own."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SERVER_OPTIONS = "-c listen_addresses='' -c fsync=off -c max_connections=60 -k {folder}"


def find_pg_ctl() -> Path | None:
    """The newest pg_ctl of this machine: on the PATH, or where Debian keeps it."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), key=lambda path: float(path.parts[4]))
    on_path = shutil.which("pg_ctl")
    return found[-1] if found else Path(on_path) if on_path else None


@contextmanager
def postgres_server(pg_ctl: Path) -> Iterator[str]:
    """The url of a fresh server, which ends with the context. Postgres refuses to run as root."""
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    user = _unprivileged()
    if user is not None:
        shutil.chown(folder, user)
    data, log = folder / "data", folder / "log"
    options = SERVER_OPTIONS.format(folder=folder)
    try:
        _run([pg_ctl, "initdb", "-D", data, "-o", "-A trust -U tracehooks -N -E UTF8 --locale=C"], user)
        _run([pg_ctl, "start", "-w", "-D", data, "-l", log, "-o", options], user)
        try:
            yield f"postgresql://tracehooks@/postgres?host={folder}"
        finally:
            _run([pg_ctl, "stop", "-w", "-m", "immediate", "-D", data], user)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unprivileged() -> str | None:
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _run(command: list[str | Path], user: str | None) -> None:
    done = subprocess.run(
        command,
        user=user,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, f"{command} ended with {done.returncode}"
