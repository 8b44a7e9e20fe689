"""Kinds of values that settings hold: durations, numbers, patterns, time zones."""

import re
from datetime import timedelta
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import BeforeValidator, Field, PlainSerializer

from tracehooks.records import is_blank

SECONDS_PER_UNIT = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def parse_duration(value: Any) -> timedelta:
    """A duration from ``"30s"``, ``"10m"``, ``"2h"``, ``"30d"``, a number of seconds, or a timedelta.

    Raises ValueError for anything else, and for a negative or infinite one.
    """
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
    elif isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value)
    else:
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|[smhdw])\s*", str(value))
        if not match:
            raise ValueError(f"{value!r} is not a duration such as 30s, 10m, 2h or 30d")
        seconds = float(match[1]) * SECONDS_PER_UNIT[match[2]]
    if not 0 <= seconds < 1e10:
        raise ValueError(f"a duration must be at least 0 and finite, got {value!r}")
    return timedelta(seconds=seconds)


def format_duration(value: timedelta) -> str:
    """The shortest form that :func:`parse_duration` reads back."""
    seconds = value.total_seconds()
    for unit in ("d", "h", "m"):
        if seconds and seconds % SECONDS_PER_UNIT[unit] == 0:
            return f"{int(seconds // SECONDS_PER_UNIT[unit])}{unit}"
    return f"{seconds:g}s"


def _no_bool(value: Any) -> Any:
    if isinstance(value, bool | str):
        raise ValueError(f"needs a number, got {value!r}")
    return value


def _is_zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError(f"{value!r} is not a time zone such as UTC or Europe/Berlin") from error
    return value


_TEXT_PATH = re.compile(
    r"""\$\.(?:output|input|metadata)(?:\.[\w-]+|\[(?:-?\d+|\*)\]|\[(?:'[^']*'|"[^"]*")\])*"""
)


def _is_text_path(value: Any) -> Any:
    if not isinstance(value, str) or not _TEXT_PATH.fullmatch(value):
        raise ValueError(
            f"{value!r} is no path such as $.output.reply, $.output.messages[-1] or $.metadata.answer"
        )
    return value


def _is_name(value: Any) -> Any:
    if isinstance(value, str) and is_blank(value):
        raise ValueError(f"needs a name, got {value!r}")
    return value


def _compiles(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"{value!r} is not a regular expression: {error}") from error
    return value


Duration = Annotated[timedelta, BeforeValidator(parse_duration), PlainSerializer(format_duration)]
Number = Annotated[float, BeforeValidator(_no_bool), Field(allow_inf_nan=False)]
Fraction = Annotated[Number, Field(ge=0, le=1)]
Count = Annotated[int, Field(strict=True, ge=0)]
Name = Annotated[str, BeforeValidator(_is_name)]
Pattern = Annotated[str, BeforeValidator(_compiles)]
TimeZone = Annotated[str, BeforeValidator(_is_zone)]
TextPathText = Annotated[str, BeforeValidator(_is_text_path)]
