"""The server in a process of its own."""

import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.fake_langfuse", "--mode", "events", "--calls", "3"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()


def test_it_prints_its_url_and_is_steered_over_http(url: str) -> None:
    """Faults are set and the state is read under ``/_control``."""
    control = f"{url}/_control"
    assert httpx.get(control).json()["observationCount"] == 3
    fault = {"path_prefix": "/api/public/health", "status": 503, "times": 1}
    assert httpx.post(control, json={"call": "fail", "arguments": fault}).status_code == 200
    assert [httpx.get(f"{url}/api/public/health").status_code for _ in range(2)] == [503, 200]
    said = httpx.get(control, params={"what": "requests,scores"}).json()
    assert [one["status"] for one in said["requests"]] == [503, 200]
    assert said["scores"] == []


def test_it_refuses_a_call_that_it_does_not_know(url: str) -> None:
    """With the names of those it does."""
    answer = httpx.post(f"{url}/_control", json={"call": "explode"})
    assert answer.status_code == 400
    assert "add_calls" in answer.json()["message"]
