"""Listings: one line a row, within the width, an ellipsis where something is cut."""

import re
from collections.abc import Sequence

import pytest

from tests.reports.nights import drawn, run_night
from tests.stored import POLITE, RUDE, agent_span, fill
from tracehooks.records import AgentCall
from tracehooks.reports.listing import runs_table, scores_table, traces_table
from tracehooks.store import Store, StoredScore

OUTPUTS = [POLITE, RUDE, "broken", None, "\x1b[31mline one\nline two | [bold]three[/bold]", "字" * 400]


def _scored(store: Store) -> list[tuple[AgentCall, Sequence[StoredScore]]]:
    fill(store, OUTPUTS)
    run_night(store)
    return [(call, store.scores.of_trace(call.trace_id)) for call in store.calls.latest(50)]


@pytest.mark.parametrize("width", [60, 89, 90, 120, 200])
def test_every_table_fits_and_keeps_a_row_on_a_line(store: Store, width: int) -> None:
    """At 60 columns as at 200, whatever the texts hold."""
    calls = _scored(store)
    store.spans.add([agent_span(50, name="an-agent-with-a-name-of-more-than-thirty-letters")])
    tables = {
        traces_table(calls, width): len(calls),
        scores_table(store.scores.page(), width): len(calls),
        runs_table(store.runs.list(), width): 1,
    }
    for table, rows in tables.items():
        lines = drawn(table, width).rstrip("\n").split("\n")
        assert len(lines) == rows + 2
        assert all(len(line) <= width for line in lines)


def test_a_narrow_table_still_shows_what_one_goes_on_with(store: Store) -> None:
    """The trace to explain, some of the text, and the score."""
    calls = _scored(store)
    text = drawn(traces_table(calls, 60), 60)
    for call, _ in calls:
        assert call.trace_id[:12] in text
    assert re.search(r"You are an idiot.*…\s+0\.8", text)
    assert "timeout" in text


def test_markup_and_escapes_in_texts_are_shown_not_obeyed(store: Store) -> None:
    """An agent's words are data."""
    calls = _scored(store)
    text = drawn(traces_table(calls, 200), 200)
    assert "line one line two | [bold]three[/bold]" in text
    assert "\x1b" not in text


def test_a_score_without_a_value_shows_its_reason(store: Store) -> None:
    """Never an empty cell, and never a 0."""
    _scored(store)
    lines = drawn(scores_table(store.scores.page(status="unscored"), 120), 120).splitlines()
    assert "timeout" in lines[2]
