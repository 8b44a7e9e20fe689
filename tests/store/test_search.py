"""Looking calls up: every filter, page by page, on SQLite and on Postgres."""

from datetime import timedelta

import pytest

from tests.stored import NOON, RUDE, agent_span, fill, mixed, span_id, trace_id
from tracehooks.records import Score, Status, TraceRef
from tracehooks.store import ScoreRecord, Store, search
from tracehooks.store.search import CallQuery

COUNT = 30


@pytest.fixture
def filled(store: Store) -> Store:
    """Thirty calls a second apart, three of them rude, the first ten scored, the eleventh unscored."""
    fill(store, mixed(COUNT, 3))
    other = agent_span(
        99, "100%_sure", start=NOON - timedelta(hours=1), name="billing_bot", environment="stage"
    )
    store.spans.add([other])
    results = [Score.scored("toxicity", n / 10) for n in range(10)]
    results.append(Score.unscored("toxicity", "timeout", "no answer"))
    records = [
        ScoreRecord(score=result.at(TraceRef(trace_id(n), span_id(n)))) for n, result in enumerate(results)
    ]
    store.scores.commit(records, project="shop", sinks=())
    return store


def _numbers(store: Store, **query: object) -> list[int]:
    """Which of the thirty are found, newest first; -1 for the other one."""
    known = {trace_id(n): n for n in range(COUNT)}
    found = store.search.calls(CallQuery(**query), limit=100)  # type: ignore[arg-type]
    return [known.get(call.trace_id, -1) for call in found.calls]


def test_without_a_filter_all_calls_come_newest_first(filled: Store) -> None:
    """Nothing is left out."""
    assert _numbers(filled) == [*reversed(range(COUNT)), -1]


def test_who_and_where_and_when_are_asked(filled: Store) -> None:
    """Agent, also by pattern, environment, and the window, its end excluded."""
    assert _numbers(filled, agent="billing_bot") == [-1]
    assert _numbers(filled, agent="billing*") == [-1]
    assert _numbers(filled, agent="billing%") == []
    assert _numbers(filled, agent="billing?bot") == [-1]
    assert _numbers(filled, agent="billing-bot") == []
    assert _numbers(filled, environment="stage") == [-1]
    early, late = NOON + timedelta(seconds=3), NOON + timedelta(seconds=6)
    assert _numbers(filled, start=early, end=late) == [5, 4, 3]


def test_scores_are_asked_by_name_status_and_value(filled: Store) -> None:
    """A call without a score of that name does not count as one below the bound."""
    assert _numbers(filled, score="toxicity", above=0.75) == [9, 8]
    assert _numbers(filled, status=Status.UNSCORED) == [10]
    assert _numbers(filled, score="toxicity", status=Status.SCORED, above=0.85) == [9]
    assert _numbers(filled, score="other") == []
    assert len(_numbers(filled, unjudged=True)) == COUNT + 1 - 11
    assert len(_numbers(filled, score="other", unjudged=True)) == COUNT + 1


def test_words_are_found_in_any_case_and_taken_as_they_are(filled: Store) -> None:
    """Signs that a database gives a meaning have none here."""
    assert len(_numbers(filled, words=RUDE[:14].upper())) == 3
    assert _numbers(filled, words="order 7?") == [7]
    assert _numbers(filled, words="100%_sure") == [-1]
    assert _numbers(filled, words="%sure%x") == []


def test_pages_join_without_gap_or_overlap(filled: Store) -> None:
    """Whatever their size."""
    query, after, seen = CallQuery(environment="production"), None, []
    while True:
        page = filled.search.calls(query, after, limit=7)
        seen += [call.trace_id for call in page.calls]
        if page.next is None:
            break
        after = page.next
    assert seen == [trace_id(n) for n in reversed(range(COUNT))]


def test_a_search_for_words_stops_and_says_how_far_it_got(
    filled: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that no search reads a million texts; it goes on from there."""
    monkeypatch.setattr(search, "LOOKED_THROUGH", 8)
    first = filled.search.calls(CallQuery(words="order 3?"))
    assert first.calls == ()
    assert first.looked_until is not None
    after, found = first.next, []
    while after is not None:
        page = filled.search.calls(CallQuery(words="order 3?"), after)
        found += [call.trace_id for call in page.calls]
        after = page.next
    assert found == [trace_id(3)]


def test_names_are_offered_from_what_is_there(filled: Store) -> None:
    """Agents, environments and scores, each once, in order."""
    assert filled.search.names() == {
        "agent": ["billing_bot", "support-bot"],
        "environment": ["production", "stage"],
        "score": ["toxicity"],
    }
