from datetime import timedelta
from typing import Any

import pytest

from tests.store.making import START, agent_span, span_id, trace_id
from tracehooks.records import TraceRef
from tracehooks.store import CallFilter, CallKey, Store

LATER = START + timedelta(days=1)


def test_pages_of_one_timestamp_hold_every_call_once(store: Store) -> None:
    """120 calls of one timestamp come in pages of 50, each once (openstatusHQ/data-table-filters#84)."""
    store.spans.add([agent_span(number, after=timedelta(0)) for number in range(1, 121)])
    first = store.calls.page(START, LATER, limit=50)
    second = store.calls.page(START, LATER, after=CallKey.of(first[-1]), limit=50)
    third = store.calls.page(START, LATER, after=CallKey.of(second[-1]), limit=50)
    assert [len(first), len(second), len(third)] == [50, 50, 20]
    assert len({call.trace_id for call in first + second + third}) == 120
    assert store.calls.page(START, LATER, after=CallKey.of(third[-1]), limit=50) == []


def test_a_saved_cursor_returns_nothing_twice(store: Store) -> None:
    """Calls of one time that arrive between two pages shift nothing (colophon-group/jobseek#1337)."""
    even = [agent_span(number, after=timedelta(0)) for number in range(2, 122, 2)]
    odd = [agent_span(number, after=timedelta(0)) for number in range(1, 121, 2)]
    store.spans.add(even)
    first = store.calls.page(limit=30)
    store.spans.add(odd)
    rest = store.calls.page(after=CallKey.of(first[-1]), limit=500)
    assert not {call.trace_id for call in first} & {call.trace_id for call in rest}
    assert {call.trace_id for call in rest} == {trace_id(number) for number in range(61, 121)}


def test_a_window_takes_its_start_and_leaves_its_end(store: Store) -> None:
    """Start is inclusive and end exclusive, to the microsecond."""
    micro = timedelta(microseconds=1)
    store.spans.add([agent_span(n, after=n * micro) for n in range(1, 6)])
    found = store.calls.page(START + 2 * micro, START + 4 * micro)
    assert [call.start for call in found] == [START + 2 * micro, START + 3 * micro]
    assert store.calls.count(START + 2 * micro, START + 4 * micro) == 2
    assert store.calls.span_of_time() == (START + micro, START + 5 * micro)


def test_iterating_goes_through_all_pages(store: Store) -> None:
    """A listing is not cut at the page size."""
    store.spans.add([agent_span(number) for number in range(1, 1203)])
    assert sum(1 for _ in store.calls.iterate(START, LATER)) == 1202
    assert store.calls.count(START, LATER) == 1202


def test_the_latest_calls_come_newest_first(store: Store) -> None:
    """The newest first, and on from the last one of the page before."""
    store.spans.add([agent_span(number) for number in range(1, 8)])
    first = store.calls.latest(3)
    second = store.calls.latest(3, before=CallKey.of(first[-1]))
    assert [call.output for call in first + second] == [f"answer {n}" for n in (7, 6, 5, 4, 3, 2)]


def test_an_empty_store_has_no_span_of_time(store: Store) -> None:
    """Nothing stored is None, and no date of a machine's birth."""
    assert store.calls.span_of_time() is None
    assert list(store.calls.iterate()) == []


def test_calls_are_found_by_trace_and_by_address(store: Store) -> None:
    """Two siblings of one trace are two calls, each with its own address."""
    store.spans.add([agent_span(1, trace=9), agent_span(2, trace=9), agent_span(3)])
    assert [call.span_id for call in store.calls.of_trace(trace_id(9))] == [span_id(1), span_id(2)]
    wanted = [TraceRef(trace_id(9), span_id(2)), TraceRef(trace_id(9), span_id(7))]
    assert list(store.calls.get_many(wanted)) == [(trace_id(9), span_id(2))]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (CallFilter(), {1, 2, 3, 4}),
        (CallFilter(environment=("production",)), {1, 2}),
        (CallFilter(environment=("production", "staging")), {1, 2, 3}),
        (CallFilter(exclude_environments=("production",)), {3, 4}),
        (CallFilter(name=("billing",)), {2}),
        (CallFilter(name=("support-*",)), {3, 4}),
        (CallFilter(name=("support-?", "billing")), {2, 3}),
        (CallFilter(name=("SUPPORT-*",)), set()),
        (CallFilter(name=("*",)), {1, 2, 3, 4}),
        (CallFilter(tags=("beta",)), {1, 3}),
        (CallFilter(tags=("beta", "pro")), {1, 2, 3}),
        (CallFilter(user_id=("u-1",)), {1}),
        (CallFilter(session_id=("s-2",)), {2}),
        (CallFilter(version=("v3",)), {3}),
        (CallFilter(metadata={"plan": "pro"}), {4}),
        (CallFilter(metadata={"plan": None}), set()),
        (CallFilter(environment=("production",), tags=("beta",)), {1}),
    ],
)
def test_filters_let_through_what_matches_all_keys(
    store: Store, filters: CallFilter, expected: set[int]
) -> None:
    """Lists match any of their values, all given keys must match, in listing and count alike."""
    labels: dict[int, dict[str, Any]] = {
        1: {"environment": "production", "user.id": "u-1", "tracehooks.tags": ["beta"]},
        2: {"environment": "production", "name": "billing", "session.id": "s-2", "tracehooks.tags": ["pro"]},
        3: {"environment": "staging", "name": "support-1", "tracehooks.tags": ["x", "beta"], "version": "v3"},
        4: {"name": "support-10", "tracehooks.metadata": '{"plan":"pro"}'},
    }
    for number, label in labels.items():
        resource = {"deployment.environment.name": label.pop("environment", "default")}
        attributes = {
            "gen_ai.agent.name": label.pop("name", "chat"),
            "gen_ai.agent.version": label.pop("version", "v1"),
        }
        store.spans.add([agent_span(number, resource=resource, attributes=attributes | label)])
    assert {int(call.span_id, 16) for call in store.calls.iterate(filters=filters)} == expected
    assert {int(call.span_id, 16) for call in store.calls.latest(10, filters)} == expected
    assert store.calls.count(filters=filters) == len(expected)


def test_a_rare_match_is_found_over_many_pages(store: Store) -> None:
    """A filter that few calls pass still fills the page, and paging on neither skips nor repeats."""
    store.spans.add(
        [
            agent_span(number, attributes={"tracehooks.tags": ["rare"]} if number % 40 == 0 else {})
            for number in range(1, 401)
        ]
    )
    filters = CallFilter(tags=("rare",))
    first = store.calls.page(filters=filters, limit=7)
    second = store.calls.page(filters=filters, after=CallKey.of(first[-1]), limit=7)
    assert [int(call.span_id, 16) for call in first + second] == list(range(40, 401, 40))
