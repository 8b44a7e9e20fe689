"""What goes wrong on demand."""

import threading
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import pytest

from tests.fake_langfuse import FakeLangfuse

SCORE = {"id": "s1", "traceId": "0" * 31 + "1", "name": "toxicity", "value": 0.25}


@pytest.fixture
def server() -> Iterator[FakeLangfuse]:
    with FakeLangfuse() as server:
        yield server


@pytest.fixture
def client(server: FakeLangfuse) -> Iterator[httpx.Client]:
    auth = (server.public_key, server.secret_key)
    with httpx.Client(base_url=f"{server.url}/api/public", auth=auth, timeout=30) as client:
        yield client


def events(*ids: str) -> dict[str, Any]:
    at = "2026-11-30T10:00:00.000Z"
    return {
        "batch": [
            {"id": f"e-{one}", "type": "score-create", "timestamp": at, "body": SCORE | {"id": one}}
            for one in ids
        ]
    }


def test_a_fault_meets_so_many_requests_of_its_path(server: FakeLangfuse, client: httpx.Client) -> None:
    """After so many good ones; others are left alone, and all are in the log."""
    server.fail("/api/public/scores", status=500, times=2, after=1)
    assert [client.post("/scores", json=SCORE).status_code for _ in range(4)] == [200, 500, 500, 200]
    assert client.get("/health").status_code == 200
    assert [one.status for one in server.requests] == [200, 500, 500, 200, 200]


def test_retry_after_comes_in_both_forms(server: FakeLangfuse, client: httpx.Client) -> None:
    """Seconds, or a date by the server's own clock, which may be wrong."""
    server.skew(3600)
    server.fail("/api/public/scores", status=429, retry_after=3)
    server.fail("/api/public/scores", status=429, retry_after=120, as_date=True)
    assert client.post("/scores", json=SCORE).headers["Retry-After"] == "3"
    answer = client.post("/scores", json=SCORE)
    sent, until = (parsedate_to_datetime(answer.headers[name]) for name in ("Date", "Retry-After"))
    assert 118 <= (until - sent).total_seconds() <= 120


def test_a_write_can_happen_though_its_answer_is_lost(server: FakeLangfuse, client: httpx.Client) -> None:
    """The connection breaks, or the answer is a 500."""
    server.fail("/api/public/scores", reset=True, written=True)
    with pytest.raises(httpx.TransportError):
        client.post("/scores", json=SCORE)
    server.fail("/api/public/scores", status=500, written=True)
    assert client.post("/scores", json=SCORE | {"id": "s2"}).status_code == 500
    assert {row["id"] for row in server.scores} == {"s1", "s2"}


def test_a_batch_can_be_taken_in_part(server: FakeLangfuse, client: httpx.Client) -> None:
    """207: the first ones failed for a reason that may pass, the rest is there."""
    server.fail("/api/public/ingestion", partial=2)
    said = client.post("/ingestion", json=events("a", "b", "c")).json()
    assert [(one["id"], one["status"]) for one in said["errors"]] == [("e-a", 500), ("e-b", 500)]
    assert said["successes"] == [{"id": "e-c", "status": 201}]
    assert [row["id"] for row in server.scores] == ["c"]


def test_a_request_can_hang_until_it_is_let_go(server: FakeLangfuse, client: httpx.Client) -> None:
    """It then gets no answer at all."""
    server.fail("/api/public/health", hang=True)
    outcome: list[str] = []

    def ask() -> None:
        try:
            client.get("/health")
        except httpx.TransportError as error:
            outcome.append(type(error).__name__)

    waiting = threading.Thread(target=ask)
    waiting.start()
    assert server.wait_for(lambda: len(server.requests) == 1)
    assert waiting.is_alive()
    server.clear()
    waiting.join(30)
    assert len(outcome) == 1


def test_a_slow_body_arrives_byte_by_byte(server: FakeLangfuse, client: httpx.Client) -> None:
    """Slower than any timeout between bytes, if need be."""
    server.fail("/api/public/health", drip=30.0)
    with pytest.raises(httpx.ReadTimeout):
        client.get("/health", timeout=0.2)


def test_down_refuses_and_up_has_lost_nothing(server: FakeLangfuse, client: httpx.Client) -> None:
    """On the same port."""
    client.post("/scores", json=SCORE)
    server.down()
    with pytest.raises(httpx.TransportError):
        client.get("/health")
    server.up()
    assert client.get("/health").status_code == 200
    assert len(server.scores) == 1


def test_after_a_413_the_connection_is_dead_though_it_says_keep_alive(
    server: FakeLangfuse, client: httpx.Client
) -> None:
    """A pooled client that goes on using it loses the next, innocent request."""
    answer = client.post("/scores", json=SCORE | {"comment": "x" * 1_100_000})
    assert (answer.status_code, answer.text) == (413, "Body exceeded 1mb limit")
    assert "connection" not in answer.headers
    with pytest.raises(httpx.TransportError):
        client.get("/health")
    assert client.get("/health").status_code == 200


def test_a_wrong_public_key_with_the_right_secret_passes(server: FakeLangfuse) -> None:
    """Only the secret is looked up."""
    url = f"{server.url}/api/public/projects"
    assert httpx.get(url, auth=("pk-lf-nobody", server.secret_key)).status_code == 200
    assert httpx.get(url, auth=(server.public_key, "sk-lf-wrong")).status_code == 401
