"""Declared facts: read from files with the place of each mistake, found whatever the answer's form."""

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracehooks.errors import ConfigurationError
from tracehooks.facts import AnyOf, FactError, Facts, NumberFact, RegexFact, TextFact


def holds(fact: Any, text: str) -> bool:
    return bool(Facts.read({"must_contain": [fact]}).check(text).found)


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        ("24 months", "The warranty is 24 Months."),
        ("24 months", "24\u00a0months"),
        ("24 months", "24\r\nmonths"),
        ("24 months", "  24   months  "),
        ("don't", "We don’t do that"),
        ("café", unicodedata.normalize("NFD", "the Café")),
        ("refund", "refunded"),
        ("hygiene seal", "hygiene\u200b seal"),
        ({"text": "NHS", "whole_word": True, "case_sensitive": True}, "the NHS pays"),
        ({"regex": "free of charge|costs nothing"}, "it is free of\ncharge"),
        (24, "24 months"),
        ({"number": 24, "unit": "months"}, "two years"),
        ({"number": 24, "unit": "months"}, "a 24-month warranty"),
        ({"number": 2, "unit": "year"}, "24 months"),
        ({"number": 3.95}, "£3.95"),
        ({"number": 3.95}, "3,95 EUR"),
        ({"number": 3.95, "unit": "pounds"}, "£3.95"),
        ({"number": 100, "tolerance": 5}, "about 104"),
        ({"number": 100, "tolerance": "5%"}, "about 95"),
        ({"number": 0.1}, "0.1"),
        ({"any_of": ["sealed", {"number": 3}]}, "three of them"),
    ],
)
def test_a_fact_is_found_in_another_form(fact: Any, text: str) -> None:
    """amazon-science/RAGChecker#36: neither form, spacing nor the way of writing numbers counts."""
    assert holds(fact, text)


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        ("24 months", "124 months"),
        ("24", "3.24"),
        ("3", "3.95"),
        ("3", "3,95"),
        ({"text": "NHS", "case_sensitive": True}, "nhs"),
        ({"text": "arse", "whole_word": True}, "parse"),
        ({"number": 24, "unit": "months"}, "24 days"),
        ({"number": 24, "unit": "months"}, "24"),
        ({"number": 5, "unit": "days"}, "5 working days"),
        ({"number": 24}, "240"),
        ({"number": 100, "tolerance": "5%"}, "94.9"),
        ({"regex": "Free"}, "free"),
        ({"any_of": ["a", "b"]}, "e"),
    ],
)
def test_a_fact_is_not_found_in_what_only_resembles_it(fact: Any, text: str) -> None:
    """Longer numbers, other kinds of unit, parts of words where that was excluded."""
    assert not holds(fact, text)


@given(st.floats(min_value=-1e6, max_value=1e6).map(lambda x: round(x, 4)))
def test_a_number_is_found_where_it_is_written(number: float) -> None:
    """As Python prints it, whatever stands around it."""
    assert holds({"number": number}, f"It is {number:f} exactly.")


def test_findings_name_what_was_found_missing_forbidden_and_leaked() -> None:
    """Each fact lands in one place."""
    facts = Facts.read(
        {"must_contain": ["yes", 7], "must_not_contain": ["never", "no way"], "canaries": ["lark-7f3a-desk"]}
    )
    found = facts.check("Yes, never. LARK 7F3A DESK")
    assert [str(fact) for fact in found.found] == ['"yes"']
    assert [str(fact) for fact in found.missing] == ["the number 7"]
    assert [str(fact) for fact in found.forbidden] == ['"never"']
    assert found.leaked == ("lark-7f3a-desk",)


DECLARED = {
    "must_contain": [
        "plain",
        {"text": "NHS", "case_sensitive": True},
        {"number": 24, "unit": "months"},
        {"number": 3.95, "tolerance": "5%"},
        {"any_of": ["a", {"regex": "b+"}]},
    ],
    "must_not_contain": [{"number": 36}],
    "canaries": ["lark-7f3a-desk"],
}


def test_facts_are_written_as_they_were_read() -> None:
    """What a file declares goes through metadata and back without a change."""
    facts = Facts.read(DECLARED)
    assert facts.declared() == DECLARED
    assert Facts.read(facts.declared()) == facts
    assert Facts.read(facts) is facts


def test_kinds_are_told_apart() -> None:
    """A text, a number alone, and the mappings."""
    facts = Facts.read({"must_contain": ["a", 3, {"regex": "x"}, {"any_of": ["b"]}]})
    assert facts.must_contain == (TextFact("a"), NumberFact(3.0), RegexFact("x"), AnyOf((TextFact("b"),)))


def test_no_facts_are_false() -> None:
    """Nothing declared is nothing to check."""
    assert not Facts.read(None)
    assert not Facts.read({"must_contain": []})
    assert Facts.read({"canaries": ["lark-7f3a"]})


@pytest.mark.parametrize(
    ("value", "path", "problem"),
    [
        ("24", (), "must map must_contain"),
        ({"must_have": []}, ("must_have",), "unknown key"),
        ({"must_contain": "24"}, ("must_contain",), "must be a list"),
        ({"must_contain": [True]}, ("must_contain", 0), "must be a text, a number"),
        ({"must_contain": [None]}, ("must_contain", 0), "must be a text, a number"),
        ({"must_contain": [" "]}, ("must_contain", 0), "not blank"),
        ({"must_contain": [float("nan")]}, ("must_contain", 0), "finite"),
        ({"must_contain": ["a", {"regex": "("}]}, ("must_contain", 1, "regex"), "not a regular expression"),
        ({"must_contain": [{"number": "24"}]}, ("must_contain", 0, "number"), "finite number"),
        ({"must_contain": [{"number": 1, "tolerance": -1}]}, ("must_contain", 0, "tolerance"), "at least 0"),
        (
            {"must_contain": [{"number": 1, "tolerance": "x"}]},
            ("must_contain", 0, "tolerance"),
            "finite number",
        ),
        ({"must_contain": [{"number": 1, "units": "m"}]}, ("must_contain", 0, "units"), "unknown key"),
        (
            {"must_contain": [{"text": "a", "whole_word": "yes"}]},
            ("must_contain", 0, "whole_word"),
            "true or false",
        ),
        ({"must_contain": [{"any_of": []}]}, ("must_contain", 0, "any_of"), "at least one"),
        (
            {"must_contain": [{"any_of": ["a", {"regex": "["}]}]},
            ("must_contain", 0, "any_of", 1, "regex"),
            "not a",
        ),
        ({"canaries": ["abc"]}, ("canaries", 0), "found by chance"),
    ],
)
def test_a_wrong_declaration_says_where_and_what(
    value: Any, path: tuple[str | int, ...], problem: str
) -> None:
    """The path leads to the mistake, so that a file's reader can name the line."""
    with pytest.raises(FactError) as caught:
        Facts.read(value)
    assert caught.value.path == path
    assert problem in caught.value.problem
    assert isinstance(caught.value, ConfigurationError)
