"""Numbers and their units: however they are written, and never more than is written."""

import pytest

from tracehooks.facts.quantities import quantities, unit_named


def read(text: str) -> list[tuple[tuple[float, ...], str | None, float]]:
    return [
        (one.values, one.unit.kind if one.unit else None, one.unit.factor if one.unit else 1.0)
        for one in quantities(text)
    ]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("it costs 3.95", (3.95,)),
        ("es kostet 3,95", (3.95,)),
        ("1,234.50 in all", (1234.5,)),
        ("1.234,50 zusammen", (1234.5,)),
        ("20\u00a0000 pieces", (20000.0,)),
        ("20\u202f000 pieces", (20000.0,)),
        ("1'000'000 francs", (1000000.0,)),
        ("1.000", (1.0, 1000.0)),
        ("0,125", (0.125, 125.0)),
        ("-5 degrees", (-5.0,)),
        ("−5 degrees", (-5.0,)),
        ("twenty-four months", (24.0,)),
        ("sixty", (60.0,)),
        ("٢٤ شهرا", (24.0,)),
        ("ends with 30.", (30.0,)),
        ("(30)", (30.0,)),
    ],
)
def test_a_number_is_read_however_it_is_written(text: str, values: tuple[float, ...]) -> None:
    """Either decimal sign, every usual separator, words; what is ambiguous has both values."""
    assert quantities(text)[0].values == values


@pytest.mark.parametrize(
    "text", ["IPX4", "v3 of it", "one of them", "zero doubt", "often", "7F3A", "the 2nd one"]
)
def test_what_only_looks_like_a_number_is_none(text: str) -> None:
    """Letters before a digit make it a name; "one" without a unit counts nothing."""
    assert read(text) == []


@pytest.mark.parametrize(
    ("text", "kind", "factor"),
    [
        ("3.95 pounds", "pounds", 1.0),
        ("£3.95", "pounds", 1.0),
        ("£ 3.95", "pounds", 1.0),
        ("3.95 GBP", "pounds", 1.0),
        ("3,95 €", "euros", 1.0),
        ("24-month warranty", "calendar", 1.0),
        ("2 years", "calendar", 12.0),
        ("two years", "calendar", 12.0),
        ("one hour", "time", 3600.0),
        ("40h", "time", 3600.0),
        ("5 working days", "working time", 1.0),
        ("5 Werktage", "working time", 1.0),
        ("60 %", "share", 1.0),
        ("60 per cent", "share", 1.0),
        ("500MB", "data", 1e6),
        ("120 square metres", "area", 1.0),
        ("500 calories", "calorie", 1.0),
        ("500", None, 1.0),
    ],
)
def test_a_unit_is_known_by_any_of_its_names(text: str, kind: str | None, factor: float) -> None:
    """Signs before, names after, abbreviations; an unknown word is a kind of its own."""
    assert read(text)[0][1:] == (kind, factor)


@pytest.mark.parametrize(
    "text",
    ["7 to 10 working days", "7-10 working days", "7 – 10 working days", "between 7 and 10 working days"],
)
def test_a_range_lends_its_unit_to_both_ends(text: str) -> None:
    """Nobody writes "7 working days to 10 working days"."""
    assert read(text) == [((7.0,), "working time", 1.0), ((10.0,), "working time", 1.0)]


def test_a_range_of_money_has_a_sign_at_each_end() -> None:
    """The sign before the second number does not hide the range."""
    assert [unit for _, unit, _ in read("£10 to £500")] == ["pounds", "pounds"]


def test_numbers_of_an_unspaced_list_are_read_one_by_one() -> None:
    """An address or a version is no number; its parts are."""
    assert [values for values, *_ in read("10.0.0.1")] == [(10.0,), (0.0,), (0.0,), (1.0,)]


def test_days_working_days_and_months_are_three_kinds() -> None:
    """A policy of 30 days is not one of a month."""
    kinds = {unit_named(name).kind for name in ("days", "working days", "Months")}
    assert len(kinds) == 3
    assert unit_named("year").kind == unit_named("months").kind
