"""Which write of a score wins, and what is lost after a 200."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.fake_langfuse import FakeLangfuse

TRACE = "0" * 31 + "1"


@pytest.fixture(params=["v3", "dual", "events", "v4.59"])
def server(request: pytest.FixtureRequest) -> Iterator[FakeLangfuse]:
    with FakeLangfuse(request.param) as server:
        yield server


@pytest.fixture
def dual() -> Iterator[FakeLangfuse]:
    with FakeLangfuse("dual") as server:
        yield server


def post(server: FakeLangfuse, path: str, body: Any, **options: Any) -> httpx.Response:
    auth = (server.public_key, server.secret_key)
    return httpx.post(f"{server.url}/api/public/{path}", json=body, auth=auth, **options)


def get(server: FakeLangfuse, path: str, **query: Any) -> httpx.Response:
    auth = (server.public_key, server.secret_key)
    return httpx.get(f"{server.url}/api/public/{path}", params=query, auth=auth)


def score(**fields: Any) -> dict[str, Any]:
    return {"id": "s1", "traceId": TRACE, "name": "toxicity", "value": 0.25} | fields


def event(at: str, **fields: Any) -> dict[str, Any]:
    """An ingestion event of 2026-11-30 at the time ``at``."""
    body = score(**fields)
    return {"id": f"e-{at}", "type": "score-create", "timestamp": f"2026-11-30T{at}Z", "body": body}


def test_every_generation_takes_one_object_and_events(server: FakeLangfuse) -> None:
    """These two routes work everywhere."""
    assert post(server, "scores", score()).status_code == 200
    answer = post(server, "ingestion", {"batch": [event("10:00:00.000", id="s2")]})
    assert answer.status_code == 207
    assert answer.json() == {"successes": [{"id": "e-10:00:00.000", "status": 201}], "errors": []}
    assert {row["id"] for row in server.scores} == {"s1", "s2"}


def test_a_list_is_taken_from_4_59_on_and_refused_before(server: FakeLangfuse) -> None:
    """The SDK of version 5 posts lists, which 4.16 answers with 400."""
    answer = post(server, "scores", [score(), score(id="s2")])
    taken = server.mode.name == "v4.59"
    assert answer.status_code == (202 if taken else 400)
    assert len(server.scores) == (2 if taken else 0)


def test_a_list_with_a_bad_score_keeps_the_good_ones() -> None:
    """207 with counts; its messages name no id."""
    with FakeLangfuse("v4.59") as server:
        answer = post(server, "scores", [score(), score(id="s2", value=None)])
        assert answer.status_code == 207
        assert (answer.json()["accepted"], answer.json()["rejected"]) == (1, 1)
        assert [row["id"] for row in server.scores] == ["s1"]


def test_from_4_59_on_the_same_id_on_another_day_is_a_second_row() -> None:
    """The timestamp of the body counts there, by its day."""
    with FakeLangfuse("v4.59") as server:
        for at in ("2026-11-29T10:00:00Z", "2026-11-29T11:00:00Z", "2026-11-30T10:00:00Z"):
            post(server, "scores", [score(timestamp=at, comment=at)])
        found = {row["timestamp"][:10]: row["comment"] for row in server.scores}
        assert found == {"2026-11-30": "2026-11-30T10:00:00Z", "2026-11-29": "2026-11-29T11:00:00Z"}


def test_before_4_59_the_same_id_is_one_score_whatever_the_day(dual: FakeLangfuse) -> None:
    """The first time is kept, and the body's timestamp ignored."""
    for day in ("2026-11-28", "2026-11-29"):
        batch = [event("10:00:00.000", comment=day) | {"timestamp": f"{day}T10:00:00.000Z"}]
        post(dual, "ingestion", {"batch": batch})
    post(dual, "scores", score(timestamp="2020-01-01T00:00:00Z", comment="single"))
    (row,) = dual.scores
    assert (row["comment"], row["timestamp"]) == ("single", "2026-11-28T10:00:00.000Z")


def test_a_later_write_merges_into_the_first(dual: FakeLangfuse) -> None:
    """Absent fields stay, metadata unites, the environment is the first one's."""
    post(dual, "scores", score(comment="first", metadata={"a": 1, "b": 1}, environment="prod"))
    post(dual, "scores", score(value=0.75, metadata={"b": 2, "c": 3}, environment="stage"))
    (row,) = dual.scores
    assert (row["value"], row["comment"], row["environment"]) == (0.75, "first", "prod")
    assert row["metadata"] == {"a": 1, "b": 2, "c": 3}


def test_an_older_envelope_changes_nothing_but_fills_gaps(dual: FakeLangfuse) -> None:
    """It is answered like any other."""
    post(dual, "ingestion", {"batch": [event("10:00:01.000", value=0.5)]})
    answer = post(dual, "ingestion", {"batch": [event("10:00:00.000", value=0.9, comment="older")]})
    assert answer.json()["errors"] == []
    (row,) = dual.scores
    assert (row["value"], row["comment"]) == (0.5, "older")


@pytest.mark.parametrize(("mode", "value", "comment"), [("dual", 0.9, "second"), ("events", 0.5, "first")])
def test_an_equal_envelope_is_undefined(mode: str, value: float, comment: str) -> None:
    """Dual took the second value, events-only kept the first one and yet united the metadata."""
    with FakeLangfuse(mode) as server:
        post(
            server,
            "ingestion",
            {"batch": [event("10:00:00.000", value=0.5, comment="first", metadata={"a": 1})]},
        )
        post(
            server,
            "ingestion",
            {"batch": [event("10:00:00.000", value=0.9, comment="second", metadata={"b": 2})]},
        )
        (row,) = server.scores
        assert (row["value"], row["comment"], row["metadata"]) == (value, comment, {"a": 1, "b": 2})


def test_a_score_under_another_name_is_still_found_under_the_old_one(dual: FakeLangfuse) -> None:
    """So it is read back by id."""
    post(dual, "scores", score())
    post(dual, "scores", score(name="renamed"))
    assert [row["name"] for row in get(dual, "v3/scores", id="s1").json()["data"]] == ["renamed"]
    assert [row["name"] for row in get(dual, "v3/scores", name="toxicity").json()["data"]] == ["toxicity"]


def test_a_score_against_its_config_gets_a_200_and_is_dropped(dual: FakeLangfuse) -> None:
    """Out of range, unknown category or config, another type; the stored name is the config's."""
    numeric = post(
        dual, "score-configs", {"name": "n", "dataType": "NUMERIC", "minValue": 0, "maxValue": 1}
    ).json()
    labels = [{"label": "good", "value": 1}]
    named = post(dual, "score-configs", {"name": "c", "dataType": "CATEGORICAL", "categories": labels}).json()
    bad = [
        score(value=5, configId=numeric["id"]),
        score(value="x", configId=numeric["id"], dataType="CATEGORICAL"),
        score(value="meh", configId=named["id"]),
        score(configId="nope"),
    ]
    assert [post(dual, "scores", one).status_code for one in bad] == [200] * 4
    assert (dual.scores, len(dual.dropped)) == ([], 4)
    post(dual, "scores", score(configId=numeric["id"]))
    assert [row["name"] for row in dual.scores] == ["n"]


def test_a_score_shows_only_after_the_ingestion_delay() -> None:
    """By the server's clock; a delete takes its own time, and misses what does not show yet."""
    with FakeLangfuse(
        "events", ingestion_delay=5.0, delete_delay=30.0, clock=lambda: 1_796_000_000.0
    ) as server:
        post(server, "scores", score())
        auth = (server.public_key, server.secret_key)
        assert httpx.delete(f"{server.url}/api/public/scores/s1", auth=auth).status_code == 202
        assert server.scores == []
        server.advance(6)
        assert len(server.scores) == 1
        server.advance(100)
        assert len(server.scores) == 1
        httpx.delete(f"{server.url}/api/public/scores/s1", auth=auth)
        server.advance(29)
        assert len(server.scores) == 1
        server.advance(1)
        assert server.scores == []


def test_v1_lists_hide_scores_of_unknown_traces_and_ignore_the_trace_asked_for(dual: FakeLangfuse) -> None:
    """v3 shows them, and v2 honours ``traceId``."""
    known, other = dual.add_calls(2)
    for place, trace_id in enumerate((known, other, TRACE)):
        post(dual, "scores", score(id=f"s{place}", traceId=trace_id))
    assert len(get(dual, "v3/scores").json()["data"]) == 3
    assert len(get(dual, "scores", traceId=known).json()["data"]) == 2
    assert len(get(dual, "v2/scores", traceId=known).json()["data"]) == 1
    assert get(dual, "scores/s2").status_code == 200


def test_an_upgrade_keeps_what_was_written(dual: FakeLangfuse) -> None:
    """From one answer to the next the server is another generation."""
    post(dual, "scores", score())
    dual.upgrade("v4.59")
    assert get(dual, "health").json()["version"] == "4.59.0"
    assert post(dual, "scores", [score(timestamp=dual.scores[0]["timestamp"], value=1)]).status_code == 202
    assert [row["value"] for row in dual.scores] == [1]
