"""Records: a Score has a value exactly when it is scored, of the type that it says."""

from fractions import Fraction

import numpy as np
import pytest

from tracehooks.errors import InvalidScoreError
from tracehooks.records import NOWHERE, AgentCall, Score, TraceRef, checked_value, is_blank, score_id


@pytest.mark.parametrize("value", [0.5, Fraction(1, 2), np.float32(0.5), np.float64(0.5)])
def test_any_real_number_is_a_numeric_score(value: object) -> None:
    """Classifiers return the numbers of their libraries; what is stored is a plain float."""
    found = checked_value("sure", value)
    assert (found, type(found)) == (0.5, float)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), None, True, "0.4", 10**400, []])
def test_what_is_no_finite_number_is_no_numeric_score(value: object) -> None:
    """anvia-hq/anvia#440, microsoft/PyRIT#2703."""
    with pytest.raises(InvalidScoreError, match="thumbs"):
        Score.scored("thumbs", value)  # type: ignore[arg-type]


@pytest.mark.parametrize(("value", "stored"), [(True, 1.0), (False, 0.0), (1, 1.0), (0, 0.0)])
def test_a_boolean_score_is_stored_as_zero_or_one(value: object, stored: float) -> None:
    """And nothing else is a boolean."""
    assert checked_value("ok", value, "BOOLEAN") == stored
    for wrong in (2, 0.5, "yes", None):
        with pytest.raises(InvalidScoreError):
            checked_value("ok", wrong, "BOOLEAN")


def test_an_unknown_data_type_is_refused_whatever_the_value() -> None:
    """It names those that there are."""
    for value in ("x", 1.0, True):
        with pytest.raises(InvalidScoreError, match="NUMERIC, BOOLEAN"):
            checked_value("thumbs", value, "BOGUS")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", "  ", "\u200b\n", None, 1])
def test_a_score_has_a_name_that_can_be_seen(name: object) -> None:
    """It is what people look for."""
    with pytest.raises(InvalidScoreError, match="needs a name"):
        Score.scored(name, 1.0)  # type: ignore[arg-type]


def test_metadata_has_names() -> None:
    """None is no metadata; a list has no names, and no backend would take it."""
    assert Score.scored("a", 1.0, metadata=None).metadata == {}
    with pytest.raises(InvalidScoreError, match="a: metadata is a mapping, got a list"):
        Score.scored("a", 1.0, metadata=["b"])


def test_a_score_without_a_value_has_a_reason_and_the_other_way_round() -> None:
    """No third kind."""
    with pytest.raises(InvalidScoreError):
        Score(name="a", status="unscored")  # type: ignore[arg-type]
    with pytest.raises(InvalidScoreError):
        Score(name="a", status="scored", value=1.0, reason_code="timeout")  # type: ignore[arg-type]
    with pytest.raises(InvalidScoreError):
        Score(name="a", status="unscored", value=1.0, reason_code="timeout")  # type: ignore[arg-type]
    with pytest.raises(InvalidScoreError):
        Score.skipped("a", "timeout")


@pytest.mark.parametrize(
    "trace_id", ["", "A" * 32, "a" * 31, "g" * 32, "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa", None]
)
def test_a_trace_id_of_another_form_is_refused(trace_id: object) -> None:
    """32 lower-case hex digits, no dashes."""
    with pytest.raises(ValueError, match="trace_id"):
        TraceRef(trace_id, "b" * 16)  # type: ignore[arg-type]


def test_the_id_of_a_score_follows_from_its_address_alone() -> None:
    """The first 32 hex digits of sha256 over project|trace|span|name."""
    assert score_id("shop", "a" * 32, "b" * 16, "toxicity") == "e27e417d8f6d8037fe645d4a87390d81"


@pytest.mark.parametrize(("trace_id", "span_id"), [("0" * 32, "1" * 16), ("1" * 32, "0" * 16)])
def test_an_address_of_zeros_is_none(trace_id: str, span_id: str) -> None:
    """OpenTelemetry keeps it for what is no span."""
    with pytest.raises(ValueError, match="not all 0"):
        TraceRef(trace_id, span_id)


def test_a_call_that_was_not_traced_is_nowhere() -> None:
    """It can be scored all the same."""
    assert AgentCall(output="x").ref is NOWHERE
    assert (NOWHERE.trace_id, NOWHERE.span_id) == ("0" * 32, "0" * 16)
    assert AgentCall(trace_id="1" * 32, span_id="2" * 16).ref == TraceRef("1" * 32, "2" * 16)


@pytest.mark.parametrize(
    "text", [None, "", " \t\n", "\u200b", "\ufeff\u2060", "\u00ad\u3000", "\u2800\ufe0f"]
)
def test_what_nobody_sees_is_blank(text: str | None) -> None:
    """So there is nothing in it to judge."""
    assert is_blank(text)
    assert not AgentCall(output=text).has_text


@pytest.mark.parametrize(
    "text", ["x", "\u200bno", "0", ".", "\U0001f600", "\u200d\U0001f468", "\ufffd", "\ue000"]
)
def test_what_is_seen_is_not_blank(text: str) -> None:
    """Be it one sign, an emoji, or a sign that could not be read."""
    assert AgentCall(output=text).has_text
