"""Web servers with several workers: what each worker was asked is stored when the server is told to stop."""

import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.ends.listening import closed_port
from tests.ends.processes import ROOT, environment, everything, left, together

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")

NO_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))
REQUESTS = 6


def ask(port: int) -> str:
    """One request; patient while the server starts."""
    end = time.monotonic() + 60
    while True:
        try:
            with NO_PROXY.open(f"http://127.0.0.1:{port}/", timeout=30) as answer:
                return str(answer.read().decode())
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def serve(
    folder: Path, command: list[str], port: int, *, pause: float = 0.0, slow: float = 0.3
) -> tuple[int, set[str]]:
    """Start a server, ask it, stop it. Returns its exit code and the processes that answered."""
    log = (folder / "server.log").open("w")
    server = subprocess.Popen(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        env=environment(folder, {"ENDS_SLOW": str(slow)}),
        stdout=log,
        stderr=log,
    )
    try:
        pids = {ask(port) for _ in range(REQUESTS)}
        time.sleep(pause)
        server.send_signal(signal.SIGTERM)
        return server.wait(30), pids
    finally:
        server.kill()
        server.wait()
        log.close()


@pytest.mark.parametrize("worker", ["sync", "gthread", "uvicorn.workers.UvicornWorker"])
def test_gunicorn(tmp_path: Path, worker: str) -> None:
    """open-telemetry/opentelemetry-python#4215: forked before or after the application was loaded."""
    application = "asgi_that_flushes" if "uvicorn" in worker else "wsgi"
    command = ["gunicorn", f"tests.ends.web_app:{application}", "--workers", "2", "--worker-class", worker]

    def served(folder: Path, preload: tuple[str, ...]) -> tuple[int, dict[str, int]]:
        port = closed_port()
        code, pids = serve(folder, [*command, "--bind", f"127.0.0.1:{port}", *preload], port)
        assert pids
        return code, left(folder)

    for preload, (code, found) in together(tmp_path, [(), ("--preload",)], served):
        assert code == 0, (preload, log_of(tmp_path))
        assert found == everything(REQUESTS), preload


def test_uvicorn(tmp_path: Path) -> None:
    """An application that flushes when it is shut down loses nothing, with one worker or two."""

    def served(folder: Path, workers: str) -> dict[str, int]:
        port = closed_port()
        command = ["uvicorn", "tests.ends.web_app:asgi_that_flushes", "--workers", workers]
        serve(folder, [*command, "--port", str(port)], port)
        return left(folder)

    for workers, found in together(tmp_path, "12", served):
        assert found == everything(REQUESTS), (workers, log_of(tmp_path))


def log_of(folder: Path) -> str:
    """What the servers said."""
    return "\n".join(file.read_text() for file in sorted(folder.rglob("server.log")))


def test_uvicorn_without_a_lifespan(tmp_path: Path) -> None:
    """It dies by the signal, without exit handlers: what was asked a moment before is stored all the same."""
    port = closed_port()
    serve(tmp_path, ["uvicorn", "tests.ends.web_app:asgi", "--port", str(port)], port, pause=0.5, slow=0)
    assert left(tmp_path) == everything(REQUESTS), (tmp_path / "server.log").read_text()
