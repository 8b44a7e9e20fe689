"""Observations by keyset cursor, and what gets in the way of reading them."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.fake_langfuse import FakeLangfuse, span_id


@pytest.fixture
def server() -> Iterator[FakeLangfuse]:
    with FakeLangfuse("events") as server:
        yield server


def page(server: FakeLangfuse, **query: Any) -> dict[str, Any]:
    auth = (server.public_key, server.secret_key)
    answer = httpx.get(f"{server.url}/api/public/v2/observations", params=query, auth=auth)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def read_all(server: FakeLangfuse, **query: Any) -> list[str]:
    """Trace ids in the order in which the pages give them."""
    found: list[str] = []
    while True:
        one = page(server, **query)
        found += [row["traceId"] for row in one["data"]]
        if "cursor" not in one["meta"]:
            return found
        query["cursor"] = one["meta"]["cursor"]


def test_pages_give_every_row_once_newest_first(server: FakeLangfuse) -> None:
    """Rows of the same millisecond too."""
    ids = server.add_calls(250, spacing=0.0)
    found = read_all(server, limit=100)
    assert sorted(found) == sorted(ids)
    assert found == sorted(found, reverse=True)


def test_a_window_has_its_start_and_not_its_end(server: FakeLangfuse) -> None:
    """From inclusive, to exclusive."""
    ids = server.add_calls(3, start=1_796_000_000.0, spacing=1.0)
    starts = [row["startTime"] for row in reversed(server.observations)]
    assert read_all(server, fromStartTime=starts[0], toStartTime=starts[2]) == [ids[1], ids[0]]


def test_filters_are_applied(server: FakeLangfuse) -> None:
    """Single parameters, and the structured filter, which takes precedence over them."""
    server.add_calls(2, environment="prod", tags=["a", "b"], metadata={"plan": "pro"})
    (other,) = server.add_calls(1, environment="stage", tags=["a"], metadata={"plan": "free"})
    assert read_all(server, environment="stage") == [other]
    plan = '[{"type":"stringObject","column":"metadata","key":"plan","operator":"=","value":"free"}]'
    assert read_all(server, environment="prod", filter=plan) == [other]
    tagged = '[{"type":"arrayOptions","column":"tags","operator":"all of","value":["a","b"]}]'
    assert len(read_all(server, filter=tagged)) == 2


def test_the_root_of_a_trace_may_be_a_web_frameworks_span_without_text(server: FakeLangfuse) -> None:
    """The agent call below it is found by its type."""
    (trace_id,) = server.add_calls(1, http_root=True)
    (root,) = page(server, isRootObservation="true", fields="io,basic")["data"]
    assert (root["input"], root["output"], root["type"]) == (None, None, "SPAN")
    (call,) = page(server, type="AGENT", fields="io,basic")["data"]
    assert (call["id"], call["output"]) == (span_id(trace_id), "answer 0")


def test_long_metadata_is_cut_unless_its_key_is_named(server: FakeLangfuse) -> None:
    """At 200 characters, silently."""
    server.add_calls(1, metadata={"long": "x" * 300})
    assert page(server, fields="metadata")["data"][0]["metadata"]["long"] == "x" * 200
    assert page(server, fields="metadata", expandMetadata="long")["data"][0]["metadata"]["long"] == "x" * 300


def test_rows_can_come_twice(server: FakeLangfuse) -> None:
    """As from a server that has not merged its parts yet."""
    ids = server.add_calls(10)
    server.duplicate_rows(every=5)
    found = read_all(server, limit=100)
    assert (len(found), set(found)) == (12, set(ids))


def test_rows_arrive_while_somebody_pages(server: FakeLangfuse) -> None:
    """Newer ones, which no later page shows."""
    ids = server.add_calls(30, start=1_796_000_000.0)
    server.arriving(5, start=1_796_001_000.0)
    assert read_all(server, limit=10) == list(reversed(ids))
    server.clear()
    assert len(read_all(server, limit=1000)) == 45


def test_a_page_can_be_repeated(server: FakeLangfuse) -> None:
    """With its cursor, as if the one that was sent had not been read."""
    server.add_calls(30)
    first = page(server, limit=10)
    server.fail("/api/public/v2/observations", repeat=True)
    assert page(server, limit=10, cursor=first["meta"]["cursor"]) == first
    assert page(server, limit=10, cursor=first["meta"]["cursor"]) != first


@pytest.mark.parametrize("limit", [101, 1000])
def test_v3_has_no_v2_reads_but_pages_of_100(limit: int) -> None:
    """And what is over the limit is refused, never cut down."""
    with FakeLangfuse("v3") as server:
        server.add_calls(150)
        auth = (server.public_key, server.secret_key)
        with httpx.Client(base_url=f"{server.url}/api/public", auth=auth) as client:
            assert client.get("/v2/observations").status_code == 404
            assert client.get("/traces", params={"limit": limit}).status_code == 400
            said = client.get("/traces", params={"limit": 100, "page": 2}).json()
        assert len(said["data"]) == 50
        assert said["meta"] == {"page": 2, "limit": 100, "totalItems": 150, "totalPages": 2}
