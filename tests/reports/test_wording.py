"""Words and numbers: short, true, and nothing in a foreign text is obeyed."""

from datetime import UTC, datetime, timedelta

import pytest

from tracehooks.jobs.windows import parse_time
from tracehooks.records import Reason
from tracehooks.reports import wording


def test_every_reason_has_words_and_a_next_step() -> None:
    """A reason code alone helps nobody."""
    assert set(wording.REASONS) == set(Reason)
    assert all(what and remedy for what, remedy in wording.REASONS.values())


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "[31mred[0m"),
        ("a\nb\t\r\n c", "a b c"),
        ("bell\x07 null\x00", "bell null"),
        ("\u202egnp.exe\u2066", "gnp.exe"),
        ("half \ud83e", "half \ufffd"),
        ("family \U0001f468\u200d\U0001f469 stays", "family \U0001f468\u200d\U0001f469 stays"),
    ],
)
def test_no_control_character_of_a_text_reaches_a_terminal(hostile: str, shown: str) -> None:
    """Escape codes, line breaks and direction marks in a text cannot move or hide what is around it."""
    assert wording.plain(hostile) == shown


def test_an_excerpt_is_cut_with_an_ellipsis_and_never_longer() -> None:
    """Megabytes of text cost no more than their beginning."""
    assert wording.excerpt("word " * 1_000_000, 20) == "word word word word…"
    assert wording.excerpt("x" * 21, 20) == "x" * 19 + "…"
    assert wording.excerpt("x" * 20, 20) == "x" * 20


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (0.9, "0.9"),
        (0.1234, "0.123"),
        (0.0004, "0.0004"),
        (None, "–"),
        ("good", "good"),
    ],
)
def test_a_value_is_short_and_a_tiny_one_is_not_nothing(value: float | str | None, shown: str) -> None:
    """0 is a score, a missing one is a dash, and what is above 0 never reads as 0."""
    assert wording.number(value) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.42, "420 ms"),
        (1.54, "1.5 s"),
        (12.4, "12 s"),
        (200, "3 min 20 s"),
        (3600, "1 h"),
        (7500, "2 h 5 min"),
        (90_000, "1 d 1 h"),
    ],
)
def test_durations_in_two_units(seconds: float, shown: str) -> None:
    """The two largest units that are not zero."""
    assert wording.duration(timedelta(seconds=seconds)) == shown


@pytest.mark.parametrize(
    ("n", "shown"), [(999, "999 B"), (1400, "1.4 kB"), (2_500_000, "2.5 MB"), (3 * 10**12, "3.0 TB")]
)
def test_sizes(n: int, shown: str) -> None:
    """Bytes in the unit that people say."""
    assert wording.size(n) == shown


def test_an_instant_can_be_given_back_on_the_command_line() -> None:
    """The window in a hint is the run's window, to the microsecond."""
    time = datetime(2026, 11, 30, 2, 3, 4, 567891, tzinfo=UTC)
    assert parse_time(wording.instant(time)) == time
