"""Calls from a Langfuse project: each once, whole, and counted."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.exporters.langfuse.making import HOUR, START, calls, drawn, observation, put, request, source
from tests.fake_langfuse import FakeLangfuse
from tests.fake_langfuse.fixtures import any_langfuse, langfuse
from tests.stored import span_id, trace_id
from tracehooks.errors import PartialReadError
from tracehooks.exporters.langfuse import client, listings, pages
from tracehooks.records import Decision
from tracehooks.sampling import sampling_key
from tracehooks.scoring.plan import Planner, Window
from tracehooks.settings import SampleSettings
from tracehooks.store import Store, open_store

__all__ = ["any_langfuse", "langfuse"]

LISTING = "/api/public/v2/observations"


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small pages, and short pauses where no server asks for longer ones."""
    monkeypatch.setattr(listings, "LISTED", 50)
    monkeypatch.setattr(pages, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.01)


@pytest.fixture
def store() -> Iterator[Store]:
    with open_store("memory") as opened:
        yield opened


def test_all_pages_are_read_and_a_web_framework_is_no_call(any_langfuse: FakeLangfuse) -> None:
    """257 traces in pages of 50 are a population of 257, langfuse/langfuse-python#768; the HTTP span above
    each has no text of its own and is not counted."""
    ids = any_langfuse.add_calls(257, start=START, spacing=1, http_root=True, generation=True)
    found = calls(source(any_langfuse))
    assert sorted(call.trace_id for call in found) == sorted(ids)
    assert all(call.output and call.output.startswith("answer ") for call in found)
    drawing, _ = drawn(source(any_langfuse), size=20)
    assert (drawing.eligible, len(drawing.drawn), drawing.drawn[0].probability) == (257, 20, 20 / 257)


def test_the_sample_is_the_smallest_keys_whatever_the_server(any_langfuse: FakeLangfuse) -> None:
    """The same traces are drawn as from the local store, and a smaller sample lies inside a larger one."""
    ids = any_langfuse.add_calls(120, start=START, spacing=1)
    smallest = sorted(ids, key=lambda trace: sampling_key(trace, "toxicity"))
    for size in (0, 1, 7, 30):
        drawing, kept = drawn(source(any_langfuse), size=size)
        assert [draw.item.trace_id for draw in drawing.drawn] == smallest[:size]
        assert {span.trace_id for span in kept} >= set(smallest[:size])
    rate, _ = drawn(source(any_langfuse), rate=0.25)
    assert {draw.item.trace_id for draw in rate.drawn} == {
        trace for trace in ids if sampling_key(trace, "toxicity") < 0.25 * 2**48
    }
    assert {draw.probability for draw in rate.drawn} == {0.25}


def test_looking_reads_no_texts_and_tells_the_same(langfuse: FakeLangfuse) -> None:
    """What a plan says is what the run does."""
    langfuse.add_calls(120, start=START, spacing=1, http_root=True)
    looked = source(langfuse).draw(request(size=10))
    assert not any("%2Cio" in (one.query_string or "") for one in langfuse.requests)
    done, _ = drawn(source(langfuse), size=10)
    addresses = [[(draw.item.ref, draw.probability) for draw in each.drawn] for each in (looked, done)]
    assert addresses[0] == addresses[1]
    assert looked.eligible == done.eligible


def test_siblings_are_two_calls_and_an_agent_below_an_agent_none(any_langfuse: FakeLangfuse) -> None:
    """Whatever lies between: the unit is the outermost agent."""
    put(
        any_langfuse,
        [
            observation(1, 1, None, type="SPAN", name="POST /chat"),
            observation(2, 1, 1, output="one", at=1),
            observation(3, 1, 1, output="two", at=2),
            observation(4, 2, None, output="outer", at=3),
            observation(5, 2, 4, type="TOOL", name="ask", at=4),
            observation(6, 2, 5, output="inner", at=5),
            observation(7, 2, 4, output="below", at=6),
        ],
    )
    assert [call.output for call in calls(source(any_langfuse))] == ["one", "two", "outer"]
    drawing, _ = drawn(source(any_langfuse))
    assert (drawing.eligible, len(drawing.drawn)) == (3, 3)


def test_what_is_no_agent_counts_only_where_there_is_none(any_langfuse: FakeLangfuse) -> None:
    """An application's own function, a graph, a lone request to a model; no lone tool, no health check."""
    put(
        any_langfuse,
        [
            observation(1, 1, type="SPAN", name="answer", output="by a function"),
            observation(2, 2, type="GENERATION", name="chat", output="by a model", at=1),
            observation(3, 3, type="TOOL", name="look_up", output="by a tool", at=2),
            observation(
                4,
                4,
                type="SPAN",
                name="GET /health",
                metadata={"scope": {"name": "opentelemetry.asgi"}},
                at=3,
            ),
            observation(5, 5, type="CHAIN", name="LangGraph", output="by a graph", at=4),
        ],
    )
    assert [call.output for call in calls(source(any_langfuse))] == [
        "by a function",
        "by a model",
        "by a graph",
    ]
    drawing, _ = drawn(source(any_langfuse), size=10)
    assert drawing.eligible == 3


def test_an_agent_that_an_older_server_takes_for_a_span_is_found_below_a_web_framework(
    any_langfuse: FakeLangfuse,
) -> None:
    """Its instrumentation's attributes say what it is."""
    scope = {"scope": {"name": "pydantic-ai"}, "attributes": {"agent_name": "poet", "model_name": "m-1"}}
    put(
        any_langfuse,
        [
            observation(1, 1, type="SPAN", name="POST /poem"),
            observation(2, 1, 1, type="SPAN", name="poet run", output="A rose.", metadata=scope),
        ],
    )
    assert [(call.name, call.output) for call in calls(source(any_langfuse))] == [("poet", "A rose.")]


def test_rows_that_come_twice_count_once(langfuse: FakeLangfuse) -> None:
    """A server that has not merged its parts yet lists a row twice, within a page and across two."""
    langfuse.add_calls(
        120, start=START, spacing=0
    )  # one and the same time, openstatusHQ/data-table-filters#84
    langfuse.duplicate_rows(every=3)
    drawing, _ = drawn(source(langfuse), size=20)
    assert (drawing.eligible, len({draw.item for draw in drawing.drawn})) == (120, 20)
    assert len(calls(source(langfuse))) == 120


def test_rows_that_arrive_while_paging_hide_none(any_langfuse: FakeLangfuse) -> None:
    """New ones push the pages on; those that were there are all seen, each once."""
    ids = any_langfuse.add_calls(220, start=START, spacing=1)
    any_langfuse.arriving(5, times=3, start=START + timedelta(minutes=30), spacing=1)
    found = [call.trace_id for call in calls(source(any_langfuse))]
    assert set(ids) <= set(found)
    assert len(found) == len(set(found))


@pytest.mark.parametrize(
    ("filters", "fields"),
    [
        ({"environment": ["staging"]}, {"environment": "staging"}),
        ({"name": ["poet"]}, {"name": "invoke_agent poet"}),
        ({"name": ["po*"]}, {"name": "poet"}),
        ({"name": ["poet", "clerk"]}, {"name": "clerk"}),
        ({"tags": ["beta", "gamma"]}, {"tags": ["beta"]}),
        ({"user_id": ["u-1"]}, {"user_id": "u-1"}),
        ({"session_id": ["s-1"]}, {"session_id": "s-1"}),
        ({"version": ["2"]}, {"version": "2"}),
        ({"level": ["ERROR"]}, {"level": "ERROR"}),
        ({"metadata": {"plan": "pro"}}, {"metadata": {"plan": "pro"}}),
    ],
    ids=lambda value: next(iter(value)),
)
def test_filters_are_asked_of_the_server_and_checked_again(
    any_langfuse: FakeLangfuse, filters: dict[str, Any], fields: dict[str, Any]
) -> None:
    """Only what matches is counted and drawn, and the server was told what that is."""
    any_langfuse.add_calls(30, start=START, spacing=1)
    wanted = any_langfuse.add_calls(7, start=START, spacing=1, **fields)
    drawing, _ = drawn(source(any_langfuse, **filters))
    assert sorted(draw.item.trace_id for draw in drawing.drawn) == sorted(wanted)
    assert drawing.eligible == 7
    asked = " ".join(one.query_string or "" for one in any_langfuse.requests)
    assert next(iter(filters)).split("_")[0].removesuffix("s") in asked.lower()


def test_a_server_that_ignores_the_filters_changes_nothing(langfuse: FakeLangfuse) -> None:
    """Rows that were not asked for are left out here: another environment, name, time, and type."""
    langfuse.add_calls(3, start=START, spacing=1, environment="production", tags=["beta"], version="2")
    rows = [
        {**row, "tags": ["beta"], **changed}
        for changed in (
            {},
            {"environment": "staging", "id": span_id(1), "traceId": trace_id(1)},
            {"version": "1", "id": span_id(2), "traceId": trace_id(2)},
            {"tags": [], "id": span_id(3), "traceId": trace_id(3)},
            {"startTime": "2026-11-28T00:00:00.000Z", "id": span_id(4), "traceId": trace_id(4)},
            {"type": "TOOL", "id": span_id(5), "traceId": trace_id(5)},
        )
        for row in langfuse.observations[:1]
    ]
    langfuse.fail(LISTING, status=200, body={"data": rows, "meta": {}}, times=2)
    filters: dict[str, Any] = {"environment": ["production"], "tags": ["beta"], "version": ["2"]}
    drawing, _ = drawn(source(langfuse, **filters))
    assert (drawing.eligible, len(drawing.drawn)) == (1, 1)


def test_evaluators_experiments_and_replays_are_left_out(any_langfuse: FakeLangfuse) -> None:
    """Nobody's agent at work; a replay only when its environment is asked for."""
    any_langfuse.add_calls(3, start=START, environment="sdk-experiment")
    any_langfuse.add_calls(3, start=START, environment="production-replay")
    ours = any_langfuse.add_calls(2, start=START, environment="production")
    put(
        any_langfuse,
        [
            observation(1, 1, environment="langfuse-llm-as-a-judge", type="GENERATION", output="0.2"),
            observation(2, 2, metadata={"attributes": {"tracehooks.internal": True}}, output="our judge"),
        ],
    )
    assert sorted(call.trace_id for call in calls(source(any_langfuse))) == sorted(ours)
    assert len(calls(source(any_langfuse, environment=["production-replay"]))) == 3


def test_no_trace_is_drawn_before_it_is_complete(any_langfuse: FakeLangfuse) -> None:
    """Open, too young, or with something open below: it waits. What is open for ever does not."""
    put(
        any_langfuse,
        [
            observation(1, 1, seconds=None),
            observation(2, 2, seconds=900),
            observation(3, 3, output="said", at=1),
            observation(4, 3, 3, type="GENERATION", name="chat", seconds=None, at=1),
            observation(5, 4, output="done", at=2),
        ],
    )
    settled = START + timedelta(minutes=10)
    drawing, kept = drawn(source(any_langfuse), settled=settled)
    assert [draw.item.span_id for draw in drawing.drawn] == [span_id(5)]
    assert sorted(head.trace_id for head in drawing.deferred) == sorted(map(trace_id, (1, 2, 3)))
    assert drawing.eligible == 1
    assert {span.trace_id for span in kept} == {trace_id(4)}
    later, _ = drawn(source(any_langfuse), settled=START + timedelta(days=2))
    assert (later.eligible, later.deferred) == (4, [])


def _night(
    store: Store, server: FakeLangfuse, hours: int, size: int | None = None
) -> tuple[int, int, set[str]]:
    """The night after so many hours, that looks a day back: (discovered, late, planned traces)."""
    window = Window(START + (hours - 1) * HOUR, START + hours * HOUR)
    planner = Planner(
        store=store,
        source=source(server),
        job="toxicity",
        score_name="toxicity",
        sample=SampleSettings(size=size),
        settle=timedelta(minutes=10),
        lookback=timedelta(days=1) if hours > 1 else timedelta(0),
    )
    run = store.runs.open("toxicity", *window, plan={})
    found = planner.discover(window, window.end + timedelta(minutes=10), run)
    planner.write(run, found)
    store.runs.update(run.id, state="finished")
    counts = found.counts()
    assert counts["discovered"] == sum(counts[key] for key in counts if key != "discovered")
    return found.discovered, found.late, {draw.item.trace_id for draw in found.planned}


@pytest.mark.parametrize("size", [None, 4])
def test_late_and_long_traces_are_found_once_in_whatever_order_they_come(
    store: Store, any_langfuse: FakeLangfuse, size: int | None
) -> None:
    """A trace that was sent hours late, and one that took hours, belong to the first night that sees them."""
    any_langfuse.add_calls(10, start=START, spacing=60)
    put(any_langfuse, [observation(1, 1, at=1200, seconds=4000)])
    assert _night(store, any_langfuse, 1, size)[:2] == (11, 0)
    assert store.decisions.counts(next(iter(store.runs.list())).id) == {Decision.DEFERRED: 1}
    put(any_langfuse, [observation(2, 2, at=60, output="late")])
    any_langfuse.add_calls(5, start=START + HOUR, spacing=60)
    discovered, late, planned = _night(store, any_langfuse, 2, size)
    assert (discovered, late) == (7, 2)
    if size is None:
        assert {trace_id(1), trace_id(2)} <= planned
    assert _night(store, any_langfuse, 3, size) == (0, 0, set())


def test_a_second_look_at_a_window_finds_its_own_late_calls_again(
    store: Store, langfuse: FakeLangfuse
) -> None:
    """A run that starts over is not hidden from by what it noted itself."""
    langfuse.add_calls(3, start=START, spacing=60)
    put(langfuse, [observation(2, 2, at=-60, output="late")])
    assert _night(store, langfuse, 2)[:2] == _night(store, langfuse, 2)[:2] == (4, 4)


def test_windows_that_meet_inside_a_millisecond_share_nothing_and_miss_nothing(
    langfuse: FakeLangfuse,
) -> None:
    """The server tells times to the millisecond, our windows end at any microsecond."""
    langfuse.add_calls(10, start=START, spacing=0.001)
    middle = START + timedelta(milliseconds=4, microseconds=700)
    first, _ = drawn(source(langfuse), end=middle)
    second, _ = drawn(source(langfuse), start=middle)
    assert first.eligible + second.eligible == 10


def test_ids_that_are_not_opentelemetrys_are_left_out_with_a_word(
    langfuse: FakeLangfuse, caplog: pytest.LogCaptureFixture
) -> None:
    """A trace made by Langfuse's second SDK cannot be scored by its address; the others can."""
    old = observation(1, 1, output="old")
    old.trace_id = "0b6aa2b4-5d9c-4e0f-9d4a-1f1f2a3b4c5d"
    put(langfuse, [old, observation(2, 2, output="new")])
    drawing, _ = drawn(source(langfuse))
    assert [draw.item.span_id for draw in drawing.drawn] == [span_id(2)]
    assert "1 calls in Langfuse are left out" in caplog.text


def test_a_busy_server_is_waited_for(any_langfuse: FakeLangfuse) -> None:
    """429 with Retry-After, errors and broken connections in the middle cost nothing,
    ProjectTech4DevAI/kaapi-backend#873."""
    any_langfuse.add_calls(257, start=START, spacing=1)
    path = "/api/public/observations" if any_langfuse.mode.name == "v3" else LISTING
    any_langfuse.fail(path, status=429, retry_after=0.05, after=2, times=4)
    any_langfuse.fail(path, status=502, after=1, times=1)
    any_langfuse.fail(path, reset=True, after=1, times=1)
    drawing, _ = drawn(source(any_langfuse), size=5)
    assert drawing.eligible == 257


def test_a_server_that_gives_up_half_way_is_no_whole(any_langfuse: FakeLangfuse) -> None:
    """How much came is told, and nothing is handed on, langfuse/langfuse#7898."""
    any_langfuse.add_calls(257, start=START, spacing=1)
    older = any_langfuse.mode.name == "v3"
    any_langfuse.fail(
        "/api/public/observations" if older else LISTING, status=429, retry_after=0, after=2, times=None
    )
    with pytest.raises(PartialReadError) as caught:
        drawn(source(any_langfuse), size=5)
    assert (caught.value.read, caught.value.total) == ((200, 257) if older else (100, None))
    among = "200 of 257" if older else "100 of an unknown number of"
    assert str(caught.value).startswith(f"fetched {among} calls before the server gave up (429 ")


def test_an_empty_page_before_the_end_is_an_error() -> None:
    """``totalItems`` says that there is more, langfuse/langfuse-python#768."""
    with FakeLangfuse("v3") as server:
        server.add_calls(257, start=START, spacing=1)
        meta = {"page": 2, "limit": 100, "totalItems": 257, "totalPages": 3}
        server.fail("/api/public/observations", status=200, body={"data": [], "meta": meta}, after=1)
        with pytest.raises(PartialReadError, match="fetched 100 of 257 calls"):
            drawn(source(server))


def test_a_page_that_comes_again_does_not_go_on_for_ever(langfuse: FakeLangfuse) -> None:
    """Once is a slip, and asked for again; always is a server that gives up."""
    langfuse.add_calls(257, start=START, spacing=1)
    langfuse.fail(LISTING, repeat=True, after=2, times=1)
    assert drawn(source(langfuse))[0].eligible == 257
    langfuse.fail(LISTING, repeat=True, after=2, times=None)
    with pytest.raises(PartialReadError, match="the same page again"):
        drawn(source(langfuse))


def test_a_page_that_is_too_large_is_asked_for_smaller(langfuse: FakeLangfuse) -> None:
    """Long texts make responses that servers refuse or fail at; smaller pages come through."""
    langfuse.add_calls(40, start=START, spacing=1)
    reading = source(langfuse)
    drawing = reading.draw(request(size=30))
    langfuse.fail(LISTING, status=413, times=2)
    assert len(drawn(reading, size=30)[0].drawn) == len(drawing.drawn) == 30
    limits = {one.query.get("limit", [""])[0] for one in langfuse.requests}
    assert {"50", "20", "10"} <= limits


def test_more_is_read_where_what_was_drawn_holds_no_call(langfuse: FakeLangfuse) -> None:
    """A thousand health checks among five calls: all five are drawn, and nobody else is counted."""
    put(langfuse, [observation(n, n, type="SPAN", name="GET /health", at=n) for n in range(1, 600)])
    scope = {"scope": {"name": "pydantic-ai"}, "attributes": {"agent_name": "poet", "model_name": "m-1"}}
    for n in range(700, 705):
        put(
            langfuse,
            [
                observation(n, n, type="SPAN", name="POST /poem", at=n),
                observation(
                    n + 100, n, n, type="SPAN", name="poet run", output="A rose.", metadata=scope, at=n
                ),
            ],
        )
    drawing, _ = drawn(source(langfuse), size=5)
    assert (len(drawing.drawn), drawing.eligible) == (5, 5)


def test_strata_share_the_sample(langfuse: FakeLangfuse) -> None:
    """Every agent gets its part, with the probability that it had."""
    langfuse.add_calls(60, start=START, spacing=1, name="poet")
    langfuse.add_calls(6, start=START, spacing=1, name="clerk")
    drawing, _ = drawn(source(langfuse), size=20, stratified=True)
    shares = {name: [d for d in drawing.drawn if d.stratum == name] for name in ("poet", "clerk")}
    assert {name: (len(some), some[0].probability) for name, some in shares.items()} == {
        "poet": (14, 14 / 60),
        "clerk": (6, 1.0),
    }
    assert drawing.eligible == 66
