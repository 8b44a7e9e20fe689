"""``dual`` and ``events`` against 789 recorded exchanges with a running 4.16.0, at their own times."""

import functools
from collections import defaultdict
from typing import Any

import pytest

from tests.fake_langfuse.contract import Exchange, Replay, shape

MODES = ("dual", "events")
_WORN = ("createdAt", "updatedAt", "timestamp", "startTime")  # what differs from server to server


@functools.cache
def replayed(mode: str) -> list[Exchange]:
    return Replay(mode).run()


def cut(one: Exchange) -> bool:
    """The recording kept only the beginning of this response."""
    return isinstance(one.expected, dict) and "__truncated" in one.expected


@pytest.mark.parametrize("mode", MODES)
def test_every_recorded_request_gets_its_recorded_status(mode: str) -> None:
    """Status by status, refusals included."""
    differing = [(one.label, one.said["status"], one.status) for one in replayed(mode)]
    assert [each for each in differing if each[1] != each[2]] == []


@pytest.mark.parametrize("mode", MODES)
def test_every_response_has_the_keys_and_types_of_its_kind(mode: str) -> None:
    """No key more or less, and no type, than some recorded response of the same kind has at that place."""
    allowed: dict[tuple[str, ...], dict[str, set[Any]]] = defaultdict(lambda: defaultdict(set))
    for one in replayed(mode):
        for place, found in shape(one.said["response"]):
            allowed[one.kind][place].add(found)
    strange = [
        (one.label, place, found)
        for one in replayed(mode)
        if not cut(one)
        for place, found in shape(one.response)
        if found not in allowed[one.kind][place]
    ]
    assert strange == []


@pytest.mark.parametrize("mode", MODES)
def test_every_list_has_as_many_rows_as_recorded(mode: str) -> None:
    """Filters, pages, delays, merges and deletes leave the rows that they left on the real server."""
    differing = []
    for one in replayed(mode):
        if isinstance(one.expected, dict) and isinstance(one.expected.get("data"), list):
            count = one.said.get("rows", len(one.expected["data"]))
            if count != len(one.response["data"]):
                differing.append((one.label, count, len(one.response["data"])))
    assert differing == []


@pytest.mark.parametrize("mode", MODES)
def test_every_refusal_has_the_recorded_words(mode: str) -> None:
    """The message, and each issue's code, path and message; where the recording is longer, its beginning."""
    differing = []
    for one in replayed(mode):
        if one.said["status"] >= 400 and isinstance(one.expected, dict) and "errors" not in one.expected:
            theirs, ours = words(one.expected), words(one.response)
            if not theirs.startswith(ours.rstrip(".")):
                differing.append((one.label, theirs, ours))
    assert differing == []


@pytest.mark.parametrize("mode", MODES)
def test_every_score_reads_back_with_the_recorded_values(mode: str) -> None:
    """Merged, dropped, renamed and retyped scores: all but their times is equal, row by row."""
    differing = []
    for one in replayed(mode):
        if "/v3/scores" in one.said["path"] and one.status == 200 and "rows" not in one.said:
            theirs, ours = (plain(each["data"]) for each in (one.expected, one.response))
            if theirs != ours:
                differing.append((one.label, theirs, ours))
    assert differing == []


def words(body: dict[str, Any]) -> str:
    """A refusal without the parts that name the validator's own patterns and unions."""
    issues = body.get("error")
    if isinstance(issues, list):
        issues = [(issue.get("code"), issue.get("path"), issue.get("message")) for issue in issues]
    return f"{body.get('message', '')} {issues or ''}".strip()


def plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key not in _WORN} for row in rows]
